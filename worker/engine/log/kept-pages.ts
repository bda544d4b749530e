// Keeps the pages of a branch's first state in a file instead of memory, because they may be as many as the database
// has.
//
// Invariant: `get` returns the bytes that `set` stored last. No other code uses the file, and it is never read again
// after it is closed.

import type { SyncFile } from '../file/file.ts';
import { PAGE_BYTES } from './pages.ts';

/** The store of a past state's pages; a Map is such a store in memory. */
export interface KeptPages
  extends Pick<Map<number, Uint8Array>, 'size' | 'has' | 'get' | 'delete' | 'clear' | 'keys'> {
  set(pageIndex: number, page: Uint8Array): unknown;
}

export class PagesInFile implements KeptPages {
  readonly #file: SyncFile;
  readonly #places = new Map<number, number>();
  readonly #free: number[] = [];
  readonly #page = new Uint8Array(PAGE_BYTES);

  constructor(file: SyncFile) {
    this.#file = file;
    file.truncate(0);
  }

  get size(): number {
    return this.#places.size;
  }

  has(pageIndex: number): boolean {
    return this.#places.has(pageIndex);
  }

  /** The bytes are valid until the next call. */
  get(pageIndex: number): Uint8Array | undefined {
    const place = this.#places.get(pageIndex);
    if (place === undefined) return undefined;
    this.#file.read(this.#page, place * PAGE_BYTES);
    return this.#page;
  }

  /** Stores the bytes of a page. @throws DISK_FULL, MEMORY_FULL, IO */
  set(pageIndex: number, page: Uint8Array): void {
    const known = this.#places.get(pageIndex);
    const place = known ?? this.#free.at(-1) ?? this.#places.size;
    this.#file.write(page, place * PAGE_BYTES);
    if (known === undefined) {
      this.#free.pop();
      this.#places.set(pageIndex, place);
    }
  }

  delete(pageIndex: number): boolean {
    const place = this.#places.get(pageIndex);
    if (place === undefined) return false;
    this.#free.push(place);
    return this.#places.delete(pageIndex);
  }

  clear(): void {
    this.#places.clear();
    this.#file.close();
  }

  keys(): MapIterator<number> {
    return this.#places.keys();
  }
}
