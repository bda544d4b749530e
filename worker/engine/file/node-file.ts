// Files in Node's file system: for objects in Node (node-medium), tests and benchmarks. node-lock keeps other processes
// out.

import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { closedError, type FileDirectory, removeOpenError, type SyncFile } from './file.ts';

/** The permissions of the storage's folders and files: only their owner may use them. */
export const PRIVATE = { folder: 0o700, file: 0o600 } as const;

/** Converts an error of Node's file system to one of this package. */
export function nodeFileError(operation: string, cause: unknown): Error {
  if (isStorageError(cause)) return cause;
  switch ((cause as { code?: string }).code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return storageError('DISK_FULL', `${operation}: the disk is full.`, { cause });
    case 'EROFS':
    case 'EACCES':
    case 'EPERM': {
      const fact = 'the folder, or the disk it is on, may not be written by this process';
      const wayOut =
        'Mount it for writing, give the process the right to, or choose another folder';
      return storageError('NOT_WRITABLE', `${operation}: ${fact}. ${wayOut}.`, { cause });
    }
    case 'EISDIR':
    case 'ENOTDIR':
    case 'EEXIST': {
      const fact = 'a folder stands where a file belongs, or a file where a folder belongs';
      const { path } = cause as { path?: string };
      const where = path === undefined ? '' : ` ("${path}")`;
      const wayOut = 'Move it away, or choose another folder';
      return storageError('PATH_CONFLICT', `${operation}: ${fact}${where}. ${wayOut}.`, { cause });
    }
    default:
      return storageError('IO', `${operation}: ${(cause as Error).message}`, { cause });
  }
}

class NodeFile implements SyncFile {
  readonly #name: string;
  readonly #descriptor: number;
  readonly #release: () => void;
  #isOpen = true;

  constructor(name: string, descriptor: number, release: () => void) {
    this.#name = name;
    this.#descriptor = descriptor;
    this.#release = release;
  }

  read(target: Uint8Array, offset: number): number {
    return this.#attempt('read', () => {
      let done = 0;
      while (done < target.length) {
        const count = readSync(this.#descriptor, target, done, target.length - done, offset + done);
        if (count === 0) break;
        done += count;
      }
      return done;
    });
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#attempt('write', () => {
      let done = 0;
      while (done < bytes.length) {
        done += writeSync(this.#descriptor, bytes, done, bytes.length - done, offset + done);
      }
    });
  }

  truncate(sizeBytes: number): void {
    this.#attempt('truncate', () => ftruncateSync(this.#descriptor, sizeBytes));
  }

  sizeBytes(): number {
    return this.#attempt('size', () => fstatSync(this.#descriptor).size);
  }

  flush(): void {
    this.#attempt('flush', () => {
      fsyncSync(this.#descriptor);
      // Writes to a deleted file that is still open succeed, but are lost when its descriptor is closed.
      if (fstatSync(this.#descriptor).nlink === 0) throw deletedFileError(`flush "${this.#name}"`);
    });
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#release();
    closeSync(this.#descriptor);
  }

  #attempt<T>(operation: string, action: () => T): T {
    // The system may have reused the number of a closed descriptor for another file.
    if (!this.#isOpen) throw closedError(operation, this.#name);
    try {
      return action();
    } catch (cause) {
      throw nodeFileError(`${operation} "${this.#name}"`, cause);
    }
  }
}

/** Makes the error of writing to a file that was deleted meanwhile. */
export function deletedFileError(operation: string): Error {
  return storageError(
    'OBJECT_MISSING',
    `${operation}: the file, or its folder, was deleted while it is in use; nothing can be stored in it any more.`,
  );
}

export class NodeDirectory implements FileDirectory {
  readonly #path: string;
  readonly #open = new Set<string>();

  /** Creates the directory if it does not exist. */
  constructor(path: string) {
    this.#path = path;
    try {
      mkdirSync(path, { recursive: true, mode: PRIVATE.folder });
    } catch (cause) {
      throw nodeFileError(`open the folder "${path}"`, cause);
    }
  }

  async open(name: string): Promise<SyncFile> {
    if (this.#open.has(name)) {
      throw storageError('STORAGE_LOCKED', `open("${name}"): already open.`);
    }
    const path = join(this.#path, name);
    try {
      const descriptor = openSync(path, existsSync(path) ? 'r+' : 'w+', PRIVATE.file);
      this.#open.add(name);
      return new NodeFile(name, descriptor, () => this.#open.delete(name));
    } catch (cause) {
      throw nodeFileError(`open "${name}"`, cause);
    }
  }

  async names(): Promise<string[]> {
    return readdirSync(this.#path);
  }

  async remove(name: string): Promise<void> {
    if (this.#open.has(name)) throw removeOpenError(name);
    try {
      rmSync(join(this.#path, name), { force: true });
    } catch (cause) {
      throw nodeFileError(`remove "${name}"`, cause);
    }
  }
}
