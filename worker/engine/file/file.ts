// The interfaces of files: a file, a directory of files, work that flushes, reading ahead, and the database file as
// SQLite uses it.
//
// An object owns one directory. Reads and writes are synchronous because SQLite's file calls are;
// opening is asynchronous because the browser's is. `flush` may return a promise (IndexedDB, for one,
// has no synchronous flush); only the output gate waits for it.
//
// Implementations: opfs-file, memory-file, node-file. They map every form of a full disk to
// DISK_FULL and every other failure to IO, so that the layers above check one code.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';

/** An open file. Exactly one holder writes it. After `close` every other call throws IO. */
export interface SyncFile {
  /** Reads into `target` from `offset`; returns the number of bytes, fewer only at the end of file. */
  read(target: Uint8Array, offset: number): number;
  /**
   * Writes all of `bytes` at `offset`, filling a gap with zeros. Writing zero bytes changes nothing,
   * at any offset.
   *
   * @throws DISK_FULL if the disk is full, IO on any other failure; the range may then contain any
   *   mix of old and new bytes.
   */
  write(bytes: Uint8Array, offset: number): void;
  /** Cuts the file, or extends it with zeros. */
  truncate(sizeBytes: number): void;
  sizeBytes(): number;
  /**
   * Makes every write so far durable. Returns a promise if the medium cannot do so synchronously. Either all flushes of
   * a medium return a promise, or none does, so that the result of one flush tells which.
   */
  flush(): void | Promise<void>;
  /** Closes the file; idempotent. */
  close(): void;
  /**
   * Closes the file inside this call, so that the space of an emptied file is free. Missing if `close` already does so.
   */
  closeNow?(): void;
}

/** The files of one object. Names are short, fixed and ASCII. */
export interface FileDirectory {
  /**
   * True if a flush is atomic and opening a file reads only flushed bytes, as on IndexedDB. Then the stored bytes are
   * known after a failed flush, and need not be written again.
   */
  readonly isExact?: boolean;
  /**
   * Opens a file, or creates it empty.
   *
   * @throws STORAGE_LOCKED if another holder keeps it open beyond the waiting time.
   */
  open(name: string): Promise<SyncFile>;
  /**
   * Waits until this many files may be opened, and reserves them. The result gives unused reservations back. Missing
   * where the number of open files has no limit.
   *
   * @throws TOO_MANY_OPEN
   */
  reserveFiles?(count: number): Promise<() => void>;
  /** Opens a file that is not needed yet; returns null if the limit of open files is reached. */
  openAhead?(name: string): Promise<SyncFile | null>;
  /** Names of the files that exist, in no particular order. */
  names(): Promise<string[]>;
  /** Removes a file; a missing one is not an error. @throws IO while the file is open */
  remove(name: string): Promise<void>;
}

/** Opens a file that is not needed yet; returns null if the limit of open files is reached. */
export function openAhead(directory: FileDirectory, name: string): Promise<SyncFile | null> {
  return directory.openAhead?.(name) ?? directory.open(name);
}

/** Empties the file and closes it, so that its space is free when this returns. */
export function discard(file: SyncFile): void {
  file.truncate(0);
  if (file.closeNow === undefined) file.close();
  else file.closeNow();
}

/** Makes the error of using a file after it was closed. */
export function closedError(operation: string, name: string): Error {
  return storageError('IO', `${operation} "${name}": the file is closed.`);
}

/** Makes the error of removing an open file. */
export function removeOpenError(name: string): Error {
  return storageError('IO', `remove "${name}": the file is open; close it first.`);
}

/** True for the error that files throw if the disk is full, or the memory that takes its place. */
export function isDiskFull(error: unknown): boolean {
  return isStorageError(error) && (error.code === 'DISK_FULL' || error.code === 'MEMORY_FULL');
}

// ---- Flushing, written once for synchronous and asynchronous flushes. Invariant: on a medium with synchronous
// flushes, such work ends inside the call that starts it, so an object that awaits only storage is never interleaved.

/** The result of a flush: nothing if it is done, or a promise on a medium that flushes later. */
export type Flush = void | Promise<void>;

/** Steps that yield every flush they depend on. A flush that fails throws at its `yield`. */
export type Flushing<T> = Generator<Flush, T, void>;

/** Runs the steps to their end. Returns a promise as soon as one flush is asynchronous. */
export function runFlushing<T>(steps: Flushing<T>): T | Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (step.value instanceof Promise) return runLater(steps, step.value);
  }
}

async function runLater<T>(steps: Flushing<T>, first: Promise<void>): Promise<T> {
  for (let flush = first; ; ) {
    const step = await flush.then(
      () => steps.next(),
      (error: unknown) => steps.throw(error),
    );
    if (step.done === true) return step.value;
    flush = Promise.resolve(step.value);
  }
}

// ---- Reading ahead. Bytes are valid until the next read: the buffer is shared by all readers, for reading never spans
// turns of the event loop.

export const WINDOW_BYTES = 1 << 18;
let windowBytes = new Uint8Array(WINDOW_BYTES);
let windowOwner: WindowReader | null = null;

/** Reads ranges of a file through a shared buffer, with read-ahead. */
export class WindowReader {
  readonly #file: SyncFile;
  readonly #end: number;
  #start = 0;
  #length = 0;

  /** Reads the file. Bytes beyond `end` are read only if the caller asks for them, not ahead. */
  constructor(file: SyncFile, end = Number.POSITIVE_INFINITY) {
    this.#file = file;
    this.#end = end;
  }

  /** Returns bytes of the file, valid until the next call; null if the file is shorter. */
  view(offset: number, length: number): Uint8Array | null {
    // Only the reader that filled the shared buffer, or replaced it, may use its contents.
    const isHeld = windowOwner === this;
    if (!isHeld || offset < this.#start || offset + length > this.#start + this.#length) {
      if (length > windowBytes.length) {
        if (offset + length > this.#file.sizeBytes()) return null;
        windowBytes = new Uint8Array(length + WINDOW_BYTES);
      }
      windowOwner = this;
      this.#start = offset;
      const ahead = Math.min(windowBytes.length, Math.max(length, this.#end - offset));
      this.#length = this.#file.read(windowBytes.subarray(0, ahead), offset);
      if (this.#length < length) return null;
    }
    const at = offset - this.#start;
    return windowBytes.subarray(at, at + length);
  }
}

// ---- The database file, as SQLite uses it.

export interface DatabaseFile {
  /**
   * Fills `target` with the bytes from `offset` on. If the file is shorter, fills the rest with zeros and returns
   * false.
   */
  read(target: Uint8Array, offset: number): boolean;
  write(bytes: Uint8Array, offset: number): void;
  truncate(sizeBytes: number): void;
  sizeBytes(): number;
  /**
   * SQLite's sync at the end of a transaction: everything written since the last call becomes one
   * committed transaction, atomically. A flush makes it durable.
   *
   * @throws DISK_FULL, IO: the transaction is then not committed, and SQLite rolls it back.
   */
  commit(): void;
  /**
   * SQLite's sync at the end of a rollback that had to write: the file returns to the last commit.
   * Pages that SQLite counts as free may contain other bytes than it wrote. Needs no disk.
   */
  endRollback(): void;
}
