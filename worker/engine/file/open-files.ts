// Limits the number of files that a host has open, and queues openings until files are free. CountedMedium applies the
// limit to a medium.
//
// Browsers limit synchronous access handles (Safari to about 252 for all tabs together), and a process has a limit of
// open files. Invariant: no more than `limit` are taken. Waiting openings are served in order, except that holders of
// files come first, because they give their files back only when they are done. `short` asks the host to close files.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { FileDirectory, SyncFile } from './file.ts';
import type { ObjectMedium } from './medium.ts';
import type { SpaceWatch } from './space-watch.ts';

/** Milliseconds without a returned file after which waiting openings are refused. */
export const OPEN_WAIT_MS = 10_000;

interface Waiting {
  readonly count: number;
  readonly granted: () => void;
  readonly refused: (reason: Error) => void;
}

export interface OpenFilesEnvironment {
  /** Runs the task after the delay, in real time; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** Called when a file is wanted and none is free, and again at each change while that lasts. */
  short(): void;
}

export class OpenFiles {
  readonly #limit: number;
  readonly #environment: OpenFilesEnvironment;
  readonly #waiting: Waiting[] = [];
  #taken = 0;
  /** Counts returned files. */
  #returns = 0;
  /** True if `wish` was called: a caller that does not wait would like to open one more file. */
  #isWished = false;
  #ended: Error | undefined;

  constructor(limit: number, environment: OpenFilesEnvironment) {
    this.#limit = limit;
    this.#environment = environment;
  }

  /** Number of files that are open or about to be opened. */
  get taken(): number {
    return this.#taken;
  }

  /** Number of wanted files beyond the free ones. */
  get shortage(): number {
    const waiting = this.#waiting.reduce((sum, { count }) => sum + count, 0);
    const wanted = waiting + (this.#isWished ? 1 : 0);
    return wanted === 0 ? 0 : Math.max(0, this.#taken + wanted - this.#limit);
  }

  /** Takes files if they are free and no opening waits; returns false otherwise. */
  tryTake(count: number): boolean {
    if (this.#waiting.length > 0 || this.#taken + count > this.#limit) return false;
    this.#taken += count;
    return true;
  }

  /**
   * Takes files as soon as they are free. `holds` says that the caller already holds files.
   *
   * @throws TOO_MANY_OPEN when nothing was closed for `OPEN_WAIT_MS`; the error of `end` after that
   */
  take(count: number, holds: boolean): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (this.tryTake(count)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const settle = (action: () => void) => () => {
        cancel();
        action();
      };
      const waiting: Waiting = {
        count,
        granted: settle(resolve),
        refused: (reason) => settle(() => reject(reason))(),
      };
      let cancel = this.#watch(waiting, (next) => {
        cancel = next;
      });
      if (holds) this.#waiting.unshift(waiting);
      else this.#waiting.push(waiting);
      this.#grant(); // The new request may fit although waiting requests do not.
      if (this.#waiting.length > 0) this.#environment.short();
    });
  }

  /** Asks for a free file for a caller that will try again later. */
  wish(): void {
    this.#isWished = true;
    this.#environment.short();
  }

  /** Gives back files that were closed or not opened. */
  give(count: number): void {
    if (count === 0) return;
    this.#taken -= count;
    this.#returns += 1;
    this.#isWished = false;
    this.#grant();
    if (this.#waiting.length > 0) this.#environment.short();
  }

  /** Refuses waiting and later openings with this error. */
  end(reason: Error): void {
    this.#ended ??= reason;
    for (const { refused } of this.#waiting.splice(0)) refused(reason);
  }

  #grant(): void {
    for (;;) {
      const first = this.#waiting[0];
      if (first === undefined || this.#taken + first.count > this.#limit) return;
      this.#waiting.shift();
      this.#taken += first.count;
      first.granted();
    }
  }

  /** Refuses a waiting opening if no file is given back for too long; the result cancels that. */
  #watch(waiting: Waiting, rearmed: (cancel: () => void) => void): () => void {
    const returns = this.#returns;
    return this.#environment.after(OPEN_WAIT_MS, () => {
      if (this.#returns !== returns) {
        rearmed(this.#watch(waiting, rearmed));
        return;
      }
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.refused(tooManyOpen(this.#limit));
      this.#grant();
    });
  }
}

function tooManyOpen(limit: number): Error {
  return storageError(
    'TOO_MANY_OPEN',
    `All ${limit} files that may be open at once (limits.openFiles) belong to objects in use, and none ` +
      `was closed for ${OPEN_WAIT_MS / 1000} s, so no other object can be opened. Objects are in use while ` +
      'a call, transaction, cursor, live read, timer or accepted WebSocket of them is open, or they hold a ' +
      'function or stub of somebody else: end some, or raise the limit.',
  );
}

/**
 * Wraps a medium so that it keeps to the limit of open files and reports how many bytes are written.
 *
 * Invariant: an object's opening reserves the files that it usually needs before it opens the first, so that no two
 * openings wait for each other's files. Each file is given back when it is closed.
 */
export class CountedMedium implements ObjectMedium {
  readonly #medium: ObjectMedium;
  readonly #files: OpenFiles;
  readonly #space: SpaceWatch | undefined;
  /** Number of open files by the key of their object; objects without open files are missing. */
  readonly #open = new Map<string, number>();

  /** `space` is notified of bytes that are about to be written. */
  constructor(medium: ObjectMedium, files: OpenFiles, space: SpaceWatch | undefined) {
    this.#medium = medium;
    this.#files = files;
    this.#space = space;
  }

  /** Returns the number of open files of an object. */
  openOf(key: string): number {
    return this.#open.get(key) ?? 0;
  }

  async directory(key: string): Promise<FileDirectory> {
    const opened = (change: 1 | -1) => {
      const count = this.openOf(key) + change;
      if (count === 0) this.#open.delete(key);
      else this.#open.set(key, count);
    };
    const directory = await this.#medium.directory(key);
    return new CountedDirectory(directory, this.#files, opened, this.#space);
  }

  remove(key: string): Promise<void> {
    return this.#medium.remove(key);
  }

  keys(): Promise<string[]> {
    return this.#medium.keys();
  }

  sizes(key: string): Promise<ReadonlyMap<string, number>> {
    return this.#medium.sizes(key);
  }
}

class CountedDirectory implements FileDirectory {
  readonly #directory: FileDirectory;
  readonly #files: OpenFiles;
  readonly #opened: (change: 1 | -1) => void;
  readonly #space: SpaceWatch | undefined;
  /** Number of reserved files that are not open; null if no reservation is active. */
  #reserved: number | null = null;

  constructor(
    directory: FileDirectory,
    files: OpenFiles,
    opened: (change: 1 | -1) => void,
    space: SpaceWatch | undefined,
  ) {
    this.#directory = directory;
    this.#files = files;
    this.#opened = opened;
    this.#space = space;
  }

  get isExact(): boolean {
    return this.#directory.isExact === true;
  }

  async reserveFiles(count: number): Promise<() => void> {
    await this.#files.take(count, false);
    this.#reserved = count;
    return () => {
      const unused = this.#reserved ?? 0;
      this.#reserved = null;
      this.#files.give(unused);
    };
  }

  async open(name: string): Promise<SyncFile> {
    if (this.#reserved !== null && this.#reserved > 0) this.#reserved -= 1;
    else await this.#files.take(1, true);
    return this.#openTaken(name);
  }

  async openAhead(name: string): Promise<SyncFile | null> {
    if (this.#files.tryTake(1)) return this.#openTaken(name);
    this.#files.wish();
    return null;
  }

  names(): Promise<string[]> {
    return this.#directory.names();
  }

  remove(name: string): Promise<void> {
    return this.#directory.remove(name);
  }

  async #openTaken(name: string): Promise<SyncFile> {
    this.#opened(1);
    const closed = () => {
      this.#opened(-1);
      // During an opening, keep the place of a closed file for the opening's next file.
      if (this.#reserved === null) this.#files.give(1);
      else this.#reserved += 1;
    };
    try {
      return new CountedFile(await this.#directory.open(name), closed, this.#space);
    } catch (error) {
      closed();
      throw error;
    }
  }
}

class CountedFile implements SyncFile {
  readonly #file: SyncFile;
  readonly #space: SpaceWatch | undefined;
  #closed: (() => void) | undefined;

  constructor(file: SyncFile, closed: () => void, space: SpaceWatch | undefined) {
    this.#file = file;
    this.#closed = closed;
    this.#space = space;
  }

  read(target: Uint8Array, offset: number): number {
    return this.#file.read(target, offset);
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#space?.wrote(bytes.length);
    this.#file.write(bytes, offset);
  }

  truncate(sizeBytes: number): void {
    this.#file.truncate(sizeBytes);
  }

  sizeBytes(): number {
    return this.#file.sizeBytes();
  }

  flush(): void | Promise<void> {
    return this.#file.flush();
  }

  close(): void {
    this.#giveBack(() => this.#file.close());
  }

  closeNow(): void {
    this.#giveBack(() => this.#file.closeNow?.() ?? this.#file.close());
  }

  #giveBack(close: () => void): void {
    const closed = this.#closed;
    this.#closed = undefined;
    try {
      close();
    } finally {
      closed?.();
    }
  }
}
