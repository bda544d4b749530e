// Files in Node's file system: for objects in Node (node-medium), tests and benchmarks.
//
// Knows nothing of locks between processes.

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
import { storageError } from '../../src/contract/errors.ts';
import { closedError, type FileDirectory, removeOpenError, type SyncFile } from './file.ts';

/** Converts an error of Node's file system to DISK_FULL or IO. */
export function nodeFileError(operation: string, cause: unknown): Error {
  const code = (cause as { code?: string }).code;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return storageError('DISK_FULL', `${operation}: the disk is full.`, { cause });
  }
  return storageError('IO', `${operation}: ${(cause as Error).message}`, { cause });
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
    this.#attempt('flush', () => fsyncSync(this.#descriptor));
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

export class NodeDirectory implements FileDirectory {
  readonly #path: string;
  readonly #open = new Set<string>();

  /** Creates the directory if it does not exist. */
  constructor(path: string) {
    this.#path = path;
    mkdirSync(path, { recursive: true });
  }

  async open(name: string): Promise<SyncFile> {
    if (this.#open.has(name)) {
      throw storageError('STORAGE_LOCKED', `open("${name}"): already open.`);
    }
    const path = join(this.#path, name);
    try {
      const descriptor = openSync(path, existsSync(path) ? 'r+' : 'w+');
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
