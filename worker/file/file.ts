// The byte operations everything else stands on: a file and a directory of files.
//
// An object owns one directory. Reading and writing are synchronous because SQLite's file calls
// are; opening is not, because the browser's is not. `flush` may return a promise (a medium such as
// IndexedDB has no synchronous one): nothing below the output gate ever waits for it.
//
// Implementations: opfs-file, memory-file, node-file. They map every form of a full disk to
// DISK_FULL and every other failure to IO, so that the layers above test one code.

import { isStorageError, storageError } from '../../src/contract/errors.ts';

/** An open file. Exactly one holder writes it. After `close` every other call throws IO. */
export interface SyncFile {
  /** Reads into `target` from `offset`; returns the bytes read, short only at the end of file. */
  read(target: Uint8Array, offset: number): number;
  /**
   * Writes all of `bytes` at `offset`, growing the file with zeros where needed. No bytes change
   * nothing, wherever they are written.
   *
   * @throws DISK_FULL when the medium is full, IO on any other failure; the range may then hold
   *   any mix of old and new bytes.
   */
  write(bytes: Uint8Array, offset: number): void;
  /** Cuts or grows (with zeros) the file. */
  truncate(sizeBytes: number): void;
  sizeBytes(): number;
  /**
   * Makes every write so far durable. A promise when the medium cannot do it synchronously: then every
   * flush of every file of it returns one, otherwise none does, so that one answer tells the kind of
   * the medium.
   */
  flush(): void | Promise<void>;
  /** Lets go of the file; idempotent. */
  close(): void;
}

/** The files of one object. Names are short, fixed and ASCII. */
export interface FileDirectory {
  /**
   * Opens a file, creating it empty when it does not exist.
   *
   * @throws STORAGE_LOCKED when another holder keeps it beyond the waiting time.
   */
  open(name: string): Promise<SyncFile>;
  /** Names of the files that exist, in no particular order. */
  names(): Promise<string[]>;
  /** Removes a file; a missing one is not an error. @throws IO while the file is open */
  remove(name: string): Promise<void>;
}

/** The error of a file that is used after it was closed. */
export function closedError(operation: string, name: string): Error {
  return storageError('IO', `${operation} "${name}": the file is closed.`);
}

/** The error of removing a file that somebody holds. */
export function removeOpenError(name: string): Error {
  return storageError('IO', `remove "${name}": the file is open; close it first.`);
}

/** True for the one error by which every file says that the medium is full. */
export function isDiskFull(error: unknown): boolean {
  return isStorageError(error) && error.code === 'DISK_FULL';
}
