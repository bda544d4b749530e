// Stores the responses of all caches of one host, in memory.
//
// Invariant: the entries together take at most `bytesMax`. The least recently used entries are removed first.

import type { StoredResponse } from './cache-answer.ts';

const BYTES_MAX = 64 * 1024 * 1024;

/** The estimated memory of an entry beside its key, headers and body. */
const ENTRY_BYTES = 512;

export interface CacheEntry extends StoredResponse {
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
    this.#entries.set(key, entry); // Reinsert the entry, so that the map is ordered by last use.
    return entry;
  }

  /** Stores the entry, and removes the key's previous one. An entry larger than `bytesMax` is not stored. */
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
