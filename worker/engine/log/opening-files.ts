// The files of one object while it is opened: which segments there are, and which files are open.
//
// Invariant: a file that nobody has taken over when opening ends is closed.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import { segmentName, segmentNumber } from './segment.ts';

const MAIN_NAME = 'main';
const CHECKPOINT_NAME = 'checkpoint';

export class OpeningFiles {
  readonly #directory: FileDirectory;
  readonly #open = new Map<string, SyncFile>();
  #names: readonly string[] = [];
  #numbers: readonly number[] = [];

  constructor(directory: FileDirectory) {
    this.#directory = directory;
  }

  /** The files that exist. */
  get names(): readonly string[] {
    return this.#names;
  }

  /** Numbers of the segments, in order. */
  get numbers(): readonly number[] {
    return this.#numbers;
  }

  get main(): SyncFile {
    return this.#get(MAIN_NAME);
  }

  get checkpoint(): SyncFile {
    return this.#get(CHECKPOINT_NAME);
  }

  /** A segment's file; null if it is not open. */
  find(number: number): SyncFile | null {
    return this.#open.get(segmentName(number)) ?? null;
  }

  /** A segment's file, which is open. */
  segment(number: number): SyncFile {
    return this.#get(segmentName(number));
  }

  /** Lists the segments; opens the other two files, and the segments that are likely to be needed. */
  async openFirst(): Promise<void> {
    this.#names = await this.#directory.names();
    this.#numbers = this.#names
      .map(segmentNumber)
      .filter((number) => number !== null)
      .sort((a, b) => a - b);
    const likely = new Set([...this.#numbers.slice(0, 1), ...this.#numbers.slice(-2)]);
    await this.#openAll([MAIN_NAME, CHECKPOINT_NAME, ...[...likely].map(segmentName)]);
  }

  /** Opens the segments from this number on. */
  async openFrom(first: number): Promise<void> {
    await this.openSegments(this.#numbers.filter((number) => number >= first));
  }

  async openSegments(numbers: readonly number[]): Promise<void> {
    await this.#openAll(numbers.map(segmentName));
  }

  /** Adds a segment without a file, before all others. Opening it creates the file. */
  addFirst(number: number): void {
    this.#numbers = [number, ...this.#numbers];
  }

  /** Removes the segments before this number. */
  async removeBefore(oldest: number): Promise<void> {
    for (const number of this.#numbers.filter((candidate) => candidate < oldest)) {
      const name = segmentName(number);
      this.#open.get(name)?.close();
      this.#open.delete(name);
      await this.#directory.remove(name);
    }
    this.#numbers = this.#numbers.filter((number) => number >= oldest);
  }

  /** Hands files over: `closeRest` does not close them. */
  keep(kept: readonly SyncFile[]): void {
    for (const [name, file] of this.#open) if (kept.includes(file)) this.#open.delete(name);
  }

  closeRest(): void {
    for (const file of this.#open.values()) file.close();
  }

  /** Opens the missing ones, in parallel. */
  async #openAll(names: readonly string[]): Promise<void> {
    const results = await Promise.allSettled(
      names
        .filter((name) => !this.#open.has(name))
        .map(async (name) => {
          this.#open.set(name, await this.#directory.open(name));
        }),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  #get(name: string): SyncFile {
    const file = this.#open.get(name);
    if (file === undefined) throw storageError('INTERNAL', `"${name}" is not open.`);
    return file;
  }
}
