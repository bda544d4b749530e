// The past of one object: its commits, bookmarks of times, and the moments that are open.
//
// Invariant: what it tells of is durable by the time that the reply leaves, and every moment ends with the
// storage.

import type { BookmarkedCommit, HistoryRange, ObjectFiles } from '../log/object-files.ts';
import type { PastState } from '../log/past-state.ts';
import { Moment, type OpenDatabase } from './moment.ts';
import type { StorageEnvironment } from './storage-environment.ts';

type PastLog = Pick<
  ObjectFiles,
  'bookmarkForTime' | 'listCommits' | 'openPast' | 'usePast' | 'closePast'
>;

export class Past {
  readonly #log: PastLog;
  readonly #openDatabase: OpenDatabase;
  readonly #environment: Pick<StorageEnvironment, 'nextTurn' | 'isCancelled'>;
  readonly #settle: () => void;
  readonly #moments = new Set<Moment>();

  /** `settle` commits the writes of this turn, and has the reply wait for every commit so far. */
  constructor(
    log: PastLog,
    openDatabase: OpenDatabase,
    environment: Pick<StorageEnvironment, 'nextTurn' | 'isCancelled'>,
    settle: () => void,
  ) {
    this.#log = log;
    this.#openDatabase = openDatabase;
    this.#environment = environment;
    this.#settle = settle;
  }

  /** @throws BOOKMARK_UNAVAILABLE */
  bookmarkForTime(timeMs: number): string | Promise<string> {
    this.#settle();
    return this.#log.bookmarkForTime(timeMs);
  }

  /** The commits of a range, the newest first. @throws BOOKMARK_INVALID, CORRUPT */
  async commits(range: HistoryRange): Promise<BookmarkedCommit[]> {
    this.#settle();
    return await this.#log.listCommits(range);
  }

  /**
   * Opens the state of a bookmark, or of a time in milliseconds, for reading.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL
   */
  async open(at: string | number): Promise<Moment> {
    this.#settle();
    const bookmark = typeof at === 'number' ? await this.#log.bookmarkForTime(at) : at;
    const state = await this.#log.openPast(bookmark);
    try {
      return this.#momentOf(bookmark, state);
    } catch (error) {
      this.#log.closePast(state);
      throw error;
    }
  }

  /** Closes every moment. */
  end(): void {
    for (const moment of this.#moments) moment.close();
    this.#moments.clear();
  }

  #momentOf(bookmark: string, state: PastState): Moment {
    if (state.ended) throw state.ended; // the storage broke meanwhile
    const moment = new Moment({
      bookmark,
      state,
      files: this.#log,
      openDatabase: this.#openDatabase,
      isCancelled: () => this.#environment.isCancelled?.() ?? false,
    });
    this.#moments.add(moment);
    // Not at once: a state may end while SQLite commits.
    state.whenEnded(() =>
      this.#environment.nextTurn(() => {
        if (this.#moments.delete(moment)) moment.close();
      }),
    );
    return moment;
  }
}
