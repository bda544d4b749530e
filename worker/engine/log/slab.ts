// Allocates many small arrays in a few large buffers, because allocating a buffer for one page takes longer than
// copying the page.
//
// A buffer stays in memory as long as one of its arrays is used, so use a slab for arrays that are dropped together.

import { PAGE_BYTES } from './pages.ts';

const BUFFER_BYTES = 64 * PAGE_BYTES;

export class Slab {
  #buffer = new Uint8Array(0);
  #used = 0;

  /** Allocates an array of zeros. Its offset in the buffer is a multiple of eight if all earlier lengths were. */
  take(length: number): Uint8Array {
    if (this.#used + length > this.#buffer.length) {
      this.#buffer = new Uint8Array(Math.max(BUFFER_BYTES, length));
      this.#used = 0;
    }
    this.#used += length;
    return this.#buffer.subarray(this.#used - length, this.#used);
  }

  /** Copies the bytes into the slab. */
  copy(bytes: Uint8Array): Uint8Array {
    const copied = this.take(bytes.length);
    copied.set(bytes);
    return copied;
  }
}

/** Maximum length of one array of a `WordSlab`, in words. */
export const CHUNK_WORDS = 1 << 16;

/**
 * Allocates thousands of small arrays of words in a few buffers. An array is known by a number, because an object for
 * each would take more memory than its words. Array `n` begins at word `n % CHUNK_WORDS` of `chunkOf(n)`.
 */
export class WordSlab {
  readonly #chunks: Uint32Array[] = [];
  #end = 0;
  #takenWords = 0;

  /** Number of allocated words. */
  get takenWords(): number {
    return this.#takenWords;
  }

  /** Allocates an array of zeros and returns its number. */
  take(count: number): number {
    const rest = this.#chunks.length * CHUNK_WORDS - this.#end;
    if (rest < count) {
      this.#end = this.#chunks.length * CHUNK_WORDS;
      this.#chunks.push(new Uint32Array(CHUNK_WORDS));
    }
    const taken = this.#end;
    this.#end += count;
    this.#takenWords += count;
    return taken;
  }

  chunkOf(taken: number): Uint32Array {
    return this.#chunks[Math.floor(taken / CHUNK_WORDS)]!;
  }
}
