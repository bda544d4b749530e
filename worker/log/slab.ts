// Memory for many arrays, in few buffers: a buffer of its own costs an array of a page more time than its copy.
//
// A buffer stays in memory as long as one of its arrays is used, so a slab is for arrays that end together.

import { PAGE_BYTES } from './pages.ts';

const BUFFER_BYTES = 64 * PAGE_BYTES;

export class Slab {
  #buffer = new Uint8Array(0);
  #used = 0;

  /** An array of zeros. Its offset in the buffer is a multiple of eight if the lengths before are. */
  take(length: number): Uint8Array {
    if (this.#used + length > this.#buffer.length) {
      this.#buffer = new Uint8Array(Math.max(BUFFER_BYTES, length));
      this.#used = 0;
    }
    this.#used += length;
    return this.#buffer.subarray(this.#used - length, this.#used);
  }

  /** A copy of the bytes. */
  copy(bytes: Uint8Array): Uint8Array {
    const copied = this.take(bytes.length);
    copied.set(bytes);
    return copied;
  }
}
