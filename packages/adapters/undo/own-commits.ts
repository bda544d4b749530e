// The new commits of one tab, read from the history of an object.
//
// Invariant: each commit since the first reading is told once, and no more of the history is read than since the last
// reading.

import type { StorageCommit, StorageHandle } from '@ctx-storage/core/storage';

/** Commits of one reading. The first one is short, because mostly one commit is new. */
const FIRST_COUNT = 10;
const NEXT_COUNT = 1000;

export interface NewCommits {
  /** The oldest first. */
  readonly own: readonly StorageCommit[];
  /** True if the history that was read before is gone: it was pruned, or the object was deleted. */
  readonly isReplaced: boolean;
}

export class OwnCommits {
  readonly #storage: Pick<StorageHandle, 'connection' | 'history'>;
  /** The newest commit that was read, `''` if there was none; undefined before the first reading. */
  #seen: string | undefined;

  constructor(storage: Pick<StorageHandle, 'connection' | 'history'>) {
    this.#storage = storage;
  }

  /** Reads the commits since the last call; the first call only notes where the history is. @throws as `history` */
  async read(): Promise<NewCommits> {
    const seen = this.#seen;
    const isFirst = seen === undefined;
    const own: StorageCommit[] = [];
    let limit = isFirst ? 1 : FIRST_COUNT;
    let page = await this.#storage.history({ limit });
    const newest = page[0]?.bookmark ?? '';
    const isReplaced = !isFirst && newest < seen;
    while (!isFirst && !isReplaced) {
      const fresh = page.filter(({ bookmark }) => bookmark > seen);
      own.push(...fresh.filter(({ by }) => by?.connection === this.#storage.connection));
      if (fresh.length < limit) break;
      limit = NEXT_COUNT;
      page = await this.#storage.history({ before: fresh.at(-1)!.bookmark, limit });
    }
    this.#seen = newest;
    return { own: own.reverse(), isReplaced };
  }
}
