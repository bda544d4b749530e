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

/** Words that a `WordSlab` gives at once, at most. */
export const CHUNK_WORDS = 1 << 16;

/**
 * Words in few buffers, for thousands of arrays that are known by a number: an object for each of them costs more than
 * its words. Array `n` begins at word `n % CHUNK_WORDS` of `chunkOf(n)`.
 */
export class WordSlab {
  readonly #chunks: Uint32Array[] = [];
  #end = 0;
  #takenWords = 0;

  /** How many words were given. */
  get takenWords(): number {
    return this.#takenWords;
  }

  /** The number of a new array of zeros. */
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
