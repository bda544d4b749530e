// Reads ranges of a file through one buffer, with read-ahead.
//
// Invariant: bytes that were read are valid until the next call of any reader. The buffer is shared by all of them: reading
// never spans turns of the event loop.

import type { SyncFile } from '../file/file.ts';

export const WINDOW_BYTES = 1 << 18;
let windowBytes = new Uint8Array(WINDOW_BYTES);
let windowOwner: WindowReader | null = null;

/** Reads ranges of a file through a shared buffer, with read-ahead. */
export class WindowReader {
  readonly #file: SyncFile;
  readonly #end: number;
  #start = 0;
  #length = 0;

  /** `end` bounds only the read-ahead. */
  constructor(file: SyncFile, end = Number.POSITIVE_INFINITY) {
    this.#file = file;
    this.#end = end;
  }

  /** Bytes of the file, valid until the next call; null if the file is shorter. */
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
