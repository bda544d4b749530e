// A database file in memory that belongs to no object; SQLite opens it to check a file before an import. It grows as it
// is written.

import type { DatabaseFile } from '../file/file.ts';

export class ImageFile implements DatabaseFile {
  #bytes: Uint8Array;
  #sizeBytes: number;

  /** Uses the bytes without copying them. */
  constructor(bytes: Uint8Array = new Uint8Array()) {
    this.#bytes = bytes;
    this.#sizeBytes = bytes.length;
  }

  read(target: Uint8Array, offset: number): boolean {
    const end = Math.min(offset + target.length, this.#sizeBytes);
    const found = this.#bytes.subarray(Math.min(offset, end), end);
    target.set(found);
    target.fill(0, found.length);
    return found.length === target.length;
  }

  write(bytes: Uint8Array, offset: number): void {
    const end = offset + bytes.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(2 * end);
      grown.set(this.#bytes.subarray(0, this.#sizeBytes));
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, offset);
    this.#sizeBytes = Math.max(this.#sizeBytes, end);
  }

  truncate(sizeBytes: number): void {
    this.#sizeBytes = Math.min(this.#sizeBytes, sizeBytes);
  }

  sizeBytes(): number {
    return this.#sizeBytes;
  }

  commit(): void {}

  endRollback(): void {}
}
