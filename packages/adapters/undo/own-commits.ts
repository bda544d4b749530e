// Reads the new commits of one tab from the history of an object.
//
// Invariant: each commit since the first reading is returned once. A reading goes back only to the reading before it.

import type { StorageCommit, StorageHandle } from '@ctx-storage/core/storage';

/**
 * The number of commits that a reading asks for first, and then. The first is small, because mostly one commit is new.
 */
const FIRST_COUNT = 10;
const NEXT_COUNT = 1000;

export interface NewCommits {
  /** The new commits of this tab, the oldest first. */
  readonly own: readonly StorageCommit[];
  /** True if the history that was read before is gone: it was pruned, or the object was deleted. */
  readonly isReplaced: boolean;
}

export class OwnCommits {
  readonly #storage: Pick<StorageHandle, 'connection' | 'history'>;
  /** The bookmark of the newest commit that was read, `''` if there was none; undefined before the first reading. */
  #newestRead: string | undefined;

  constructor(storage: Pick<StorageHandle, 'connection' | 'history'>) {
    this.#storage = storage;
  }

  /**
   * Reads the commits since the last call. The first call only finds the newest commit.
   *
   * @throws the errors of `history`
   */
  async read(): Promise<NewCommits> {
    const newestRead = this.#newestRead;
    const isFirst = newestRead === undefined;
    const own: StorageCommit[] = [];
    let limit = isFirst ? 1 : FIRST_COUNT;
    let page = await this.#storage.history({ limit });
    const newest = page[0]?.bookmark ?? '';
    const isReplaced = !isFirst && newest < newestRead;
    while (!isFirst && !isReplaced) {
      const newCommits = page.filter(({ bookmark }) => bookmark > newestRead);
      own.push(...newCommits.filter(({ by }) => by?.connection === this.#storage.connection));
      if (newCommits.length < limit) break;
      limit = NEXT_COUNT;
      page = await this.#storage.history({ before: newCommits.at(-1)!.bookmark, limit });
    }
    this.#newestRead = newest;
    return { own: own.reverse(), isReplaced };
  }
}
