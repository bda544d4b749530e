// Files in memory: for tests, and for objects that end with their worker.
//
// Contents belong to the directory, so a closed file can be opened again. A capacity simulates a full
// disk, with the same error as a real one. A flush does nothing.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { closedError, type FileDirectory, removeOpenError, type SyncFile } from './file.ts';

/** The bytes of one file, grown by doubling. */
export class FileContent {
  #bytes = new Uint8Array(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  read(target: Uint8Array, offset: number): number {
    const count = Math.max(0, Math.min(target.length, this.#size - offset));
    if (count > 0) target.set(this.#bytes.subarray(offset, offset + count));
    return count;
  }

  write(bytes: Uint8Array, offset: number): void {
    const end = offset + bytes.length;
    if (end > this.#size) this.resize(end);
    this.#bytes.set(bytes, offset);
  }

  resize(size: number): void {
    if (size > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(size, this.#bytes.length * 2, 512));
      grown.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = grown;
    } else if (size < this.#size) {
      this.#bytes.fill(0, size, this.#size);
    }
    this.#size = size;
  }
}

class MemoryFile implements SyncFile {
  readonly #name: string;
  readonly #content: FileContent;
  readonly #directory: MemoryDirectory;
  readonly #release: () => void;
  #isOpen = true;

  constructor(name: string, content: FileContent, directory: MemoryDirectory, release: () => void) {
    this.#name = name;
    this.#content = content;
    this.#directory = directory;
    this.#release = release;
  }

  read(target: Uint8Array, offset: number): number {
    this.#mustBeOpen('read');
    return this.#content.read(target, offset);
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#mustBeOpen('write');
    if (bytes.length === 0) return;
    this.#directory.reserve(offset + bytes.length - this.#content.size);
    this.#content.write(bytes, offset);
  }

  truncate(sizeBytes: number): void {
    this.#mustBeOpen('truncate');
    this.#directory.reserve(sizeBytes - this.#content.size);
    this.#content.resize(sizeBytes);
  }

  sizeBytes(): number {
    this.#mustBeOpen('size');
    return this.#content.size;
  }

  flush(): void {
    this.#mustBeOpen('flush');
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#release();
  }

  #mustBeOpen(operation: string): void {
    if (!this.#isOpen) throw closedError(operation, this.#name);
  }
}

export class MemoryDirectory implements FileDirectory {
  readonly #files = new Map<string, FileContent>();
  readonly #open = new Set<string>();
  /** Limit for the size of all files together; beyond it, writes fail with DISK_FULL. */
  capacityBytes: number;

  constructor(capacityBytes = Number.POSITIVE_INFINITY) {
    this.capacityBytes = capacityBytes;
  }

  open(name: string): Promise<SyncFile> {
    if (this.#open.has(name)) {
      return Promise.reject(storageError('STORAGE_LOCKED', `open("${name}"): already open.`));
    }
    let content = this.#files.get(name);
    if (content === undefined) {
      content = new FileContent();
      this.#files.set(name, content);
    }
    this.#open.add(name);
    return Promise.resolve(new MemoryFile(name, content, this, () => this.#open.delete(name)));
  }

  names(): Promise<string[]> {
    return Promise.resolve([...this.#files.keys()]);
  }

  remove(name: string): Promise<void> {
    if (this.#open.has(name)) return Promise.reject(removeOpenError(name));
    this.#files.delete(name);
    return Promise.resolve();
  }

  /** Returns the size of all files together. */
  usedBytes(): number {
    let used = 0;
    for (const content of this.#files.values()) used += content.size;
    return used;
  }

  /** Returns the sizes of all files by name. */
  sizes(): Map<string, number> {
    return new Map([...this.#files].map(([name, { size }]) => [name, size]));
  }

  /** Checks the capacity. @throws DISK_FULL if `growthBytes` more do not fit */
  reserve(growthBytes: number): void {
    if (growthBytes <= 0 || this.capacityBytes === Number.POSITIVE_INFINITY) return;
    const used = this.usedBytes();
    if (used + growthBytes > this.capacityBytes) {
      throw storageError(
        'DISK_FULL',
        `write: ${growthBytes} more bytes do not fit; ${used} of ${this.capacityBytes} are used.`,
      );
    }
  }
}
