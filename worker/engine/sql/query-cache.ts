// A cache of compiled queries, by their text.
//
// Invariant: the texts together are at most 1 MiB; the least recently used queries are evicted first, and
// a query in use never is. Large programs are not cached: their texts often contain values, and are not used again.

import type { Query } from './query.ts';

/** The maximum length of all cached texts together, in UTF-16 units; equal to workerd's. */
export const CACHED_TEXT_UNITS_MAX = 1024 * 1024;

/** The length that an eviction leaves. Evicting a single query would sort all others again for each new text. */
const LEFT_TEXT_UNITS = CACHED_TEXT_UNITS_MAX * 0.9;

/** The instructions of the largest program that is cached (our choice): 10,000 instructions take 200 kB. */
const CACHED_INSTRUCTIONS_MAX = 10_000;

export class QueryCache {
  readonly #queries = new Map<string, Query>();
  #textUnits = 0;
  #uses = 0;

  /** Returns the cached query of the text, unless it is in use. */
  idle(text: string): Query | undefined {
    const query = this.#queries.get(text);
    if (query === undefined || query.busy) return undefined;
    query.lastUse = ++this.#uses;
    return query;
  }

  /** Caches the query, unless its program is large, or another one with its text is cached. */
  add(query: Query): void {
    if (query.instructionCount > CACHED_INSTRUCTIONS_MAX || this.#queries.has(query.text)) return;
    query.cached = true;
    query.lastUse = ++this.#uses;
    this.#queries.set(query.text, query);
    this.#textUnits += query.text.length;
    if (this.#textUnits > CACHED_TEXT_UNITS_MAX) this.#evict(query);
  }

  schemaChanged(): void {
    for (const query of this.#queries.values()) query.schemaChanged();
  }

  /** Finalizes and forgets all; none may be in use. */
  clear(): void {
    for (const query of this.#queries.values()) query.finalize();
    this.#queries.clear();
    this.#textUnits = 0;
  }

  #evict(newest: Query): void {
    const idle = [...this.#queries.values()].filter((query) => !query.busy && query !== newest);
    idle.sort((a, b) => a.lastUse - b.lastUse);
    for (const query of idle) {
      if (this.#textUnits <= LEFT_TEXT_UNITS) return;
      this.#queries.delete(query.text);
      this.#textUnits -= query.text.length;
      query.finalize();
    }
  }
}
