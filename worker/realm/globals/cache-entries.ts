// The responses that the caches of one host keep, in memory.
//
// Invariant: all of them together take at most `bytesMax`; the least recently used go first.

import type { Kept } from './cache-answer.ts';

const BYTES_MAX = 64 * 1024 * 1024;

/** About the memory of an entry in addition to its texts and its body. */
const ENTRY_BYTES = 512;

export interface CacheEntry extends Kept {
  readonly storedMs: number;
  readonly freshUntilMs: number;
}

export class CacheEntries {
  readonly bytesMax: number;
  readonly #entries = new Map<string, CacheEntry>();
  #byteCount = 0;

  constructor(bytesMax = BYTES_MAX) {
    this.bytesMax = bytesMax;
  }

  get(key: string, nowMs: number): CacheEntry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (nowMs >= entry.freshUntilMs) {
      this.delete(key);
      return undefined;
    }
    this.#entries.delete(key);
    this.#entries.set(key, entry); // the order of the map is the order of use
    return entry;
  }

  /** Keeps the entry in place of the key's other one, unless it alone is too large. */
  set(key: string, entry: CacheEntry): void {
    this.delete(key);
    const byteCount = sizeOf(key, entry);
    if (byteCount > this.bytesMax) return;
    this.#entries.set(key, entry);
    this.#byteCount += byteCount;
    for (const oldest of this.#entries.keys()) {
      if (this.#byteCount <= this.bytesMax) return;
      this.delete(oldest);
    }
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#byteCount -= sizeOf(key, entry);
  }
}

function sizeOf(key: string, { bytes, headers }: CacheEntry): number {
  let characterCount = key.length;
  for (const [name, value] of headers) characterCount += name.length + value.length;
  return ENTRY_BYTES + 2 * characterCount + bytes.length;
}
