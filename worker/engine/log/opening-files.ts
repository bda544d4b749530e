// Finds and opens the files of one object during its opening.
//
// Invariant: when the opening ends, every file that was not handed over by `keep` is closed.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory, SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { foldedName, foldedSpan, overlap, type Span, Spans } from './sealed-segments.ts';
import { Segment, segmentName, segmentNumber } from './segment.ts';

const MAIN_NAME = 'main';
const CHECKPOINT_NAME = 'checkpoint';

export class OpeningFiles {
  readonly #directory: FileDirectory;
  readonly #open = new Map<string, SyncFile>();
  #names: readonly string[] = [];
  #numbers: readonly number[] = [];
  #spans = new Spans();

  constructor(directory: FileDirectory) {
    this.#directory = directory;
  }

  /** Names of the existing files. */
  get names(): readonly string[] {
    return this.#names;
  }

  /** Numbers of the existing segments, in order. */
  get numbers(): readonly number[] {
    return this.#numbers;
  }

  /** The segments that each folded segment replaces; valid after `settleFolded`. */
  get spans(): Spans {
    return this.#spans;
  }

  get main(): SyncFile {
    return this.#get(MAIN_NAME);
  }

  get checkpoint(): SyncFile {
    return this.#get(CHECKPOINT_NAME);
  }

  /** Returns a segment's file; null if it is not open. */
  find(number: number): SyncFile | null {
    return this.#open.get(this.#spans.nameOf(number)) ?? null;
  }

  /** Returns a segment's file, which must be open. */
  segment(number: number): SyncFile {
    return this.#get(this.#spans.nameOf(number));
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

  /**
   * Decides between folded segments and the segments that they replace, if both exist after a crash. If the folded one
   * has an intact header, the others are removed; otherwise it was unfinished and is removed itself.
   */
  async settleFolded(checksum: Checksum): Promise<void> {
    const width = ({ first, last }: Span) => last - first;
    const found = this.#names.map(foldedSpan).filter((span) => span !== null);
    // If two folded segments replace the same ones, the one that keeps fewer states was made from the other.
    found.sort((one, other) => width(other) - width(one) || other.minutes - one.minutes);
    const settled: Span[] = [];
    for (const span of found) {
      const isCovered = settled.some((other) => overlap(other, span));
      const isAlone = ![
        ...this.#numbers.map((n) => ({ first: n, last: n, minutes: 0 })),
        ...found,
      ].some((other) => other !== span && overlap(other, span));
      const stands = !isCovered && (isAlone || (await this.#isWhole(span, checksum)));
      if (stands) settled.push(span);
      else await this.#remove(foldedName(span));
    }
    const isFolded = (number: number) => settled.some((s) => s.first <= number && number <= s.last);
    for (const number of this.#numbers.filter(isFolded)) await this.#remove(segmentName(number));
    const rest = this.#numbers.filter((number) => !isFolded(number));
    this.#numbers = [...rest, ...settled.map(({ last }) => last)].sort((a, b) => a - b);
    this.#spans = new Spans(settled);
  }

  async #isWhole(span: Span, checksum: Checksum): Promise<boolean> {
    const file = await this.#directory.open(foldedName(span));
    const header = Segment.read(span.last, file, checksum);
    file.close();
    return header?.folded != null;
  }

  async #remove(name: string): Promise<void> {
    this.#open.get(name)?.close();
    this.#open.delete(name);
    await this.#directory.remove(name);
  }

  /** Opens the segments from this number on. */
  async openFrom(first: number): Promise<void> {
    await this.openSegments(this.#numbers.filter((number) => number >= first));
  }

  async openSegments(numbers: readonly number[]): Promise<void> {
    await this.#openAll(numbers.map((number) => this.#spans.nameOf(number)));
  }

  /** Adds a segment without a file before all others; opening it creates the file. */
  addFirst(number: number): void {
    this.#numbers = [number, ...this.#numbers];
  }

  /** Removes the segments before this number. */
  async removeBefore(oldest: number): Promise<void> {
    for (const number of this.#numbers.filter((candidate) => candidate < oldest)) {
      await this.#remove(this.#spans.nameOf(number));
    }
    this.#spans.dropBefore(oldest);
    this.#numbers = this.#numbers.filter((number) => number >= oldest);
  }

  /** Hands files over to the opened object, so that `closeRest` does not close them. */
  keep(kept: readonly SyncFile[]): void {
    for (const [name, file] of this.#open) if (kept.includes(file)) this.#open.delete(name);
  }

  closeRest(): void {
    for (const file of this.#open.values()) file.close();
  }

  /** Opens those of the files that are not open yet, in parallel. */
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
