// The history of one object: lists commits, finds bookmarks for times, and opens and compares moments.
//
// Invariant: commits that a reply names are durable before the reply leaves, and every moment ends with the storage.

import { storageError } from '../../../src/shared/contract/errors.ts';
import type { BookmarkedCommit, HistoryRange, ObjectFiles } from '../log/object-files.ts';
import type { PastState } from '../log/past-state.ts';
import type { Comparison, ReadableState } from './comparison.ts';
import { lateCode } from './load-late.ts';
import { Moment, type OpenDatabase } from './moment.ts';
import type { StorageEnvironment } from './storage-environment.ts';

type PastFiles = Pick<
  ObjectFiles,
  | 'beginning'
  | 'bookmarkBefore'
  | 'bookmarkForTime'
  | 'currentBookmark'
  | 'isNext'
  | 'isToBeRestored'
  | 'listCommits'
  | 'openPast'
  | 'usePast'
  | 'closePast'
>;

/** An open moment or comparison. */
type Closable = Pick<Moment, 'close'>;

/** An open state for a comparison; the state that a branch began with has no bookmark. */
export interface OpenState extends ReadableState {
  readonly bookmark: string | null;
}

/** Consecutive commits, by the bookmarks of the newest and the oldest one. */
interface CommitRun {
  readonly newest: string;
  oldest: string;
}

export class Past {
  readonly #files: PastFiles;
  readonly #openDatabase: OpenDatabase;
  readonly #environment: Pick<StorageEnvironment, 'nextTurn' | 'isCancelled'>;
  readonly #settle: () => void;
  readonly #moments = new Set<Closable>();

  /** `settle` commits the writes of this turn, and makes the reply wait for all commits so far. */
  constructor(
    files: PastFiles,
    openDatabase: OpenDatabase,
    environment: Pick<StorageEnvironment, 'nextTurn' | 'isCancelled'>,
    settle: () => void,
  ) {
    this.#files = files;
    this.#openDatabase = openDatabase;
    this.#environment = environment;
    this.#settle = settle;
  }

  /** True if the next opening will perform a requested restore. */
  get isToBeRestored(): boolean {
    return this.#files.isToBeRestored;
  }

  /** Returns the bookmark of the last commit at or before a time. @throws BOOKMARK_UNAVAILABLE */
  bookmarkForTime(timeMs: number): string | Promise<string> {
    this.#settle();
    return this.#files.bookmarkForTime(timeMs);
  }

  /** Lists the commits of a range, the newest first. @throws BOOKMARK_INVALID, CORRUPT */
  async commits(range: HistoryRange): Promise<BookmarkedCommit[]> {
    this.#settle();
    return await this.#files.listCommits(range);
  }

  /**
   * Opens the state of a bookmark, or of a time in milliseconds, for reading.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL
   */
  async open(at: string | number): Promise<Moment> {
    this.#settle();
    const bookmark = typeof at === 'number' ? await this.#files.bookmarkForTime(at) : at;
    const state = await this.#files.openPast(bookmark);
    try {
      return this.#momentOf(bookmark, state);
    } catch (error) {
      this.#files.closePast(state);
      throw error;
    }
  }

  /**
   * Opens two states to compare them.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, MEMORY_FULL; WORKER_FAILED without the late parts
   */
  async compare(from: string | number, to: string | number): Promise<Comparison> {
    const before = await this.openState(from);
    try {
      return await this.compareStates(before, await this.openState(to));
    } catch (error) {
      before.close();
      throw error;
    }
  }

  /** Compares the state after a run of commits with the one before it: the changes revert them. @throws as `compare` */
  compareBack({ newest, oldest }: CommitRun): Promise<Comparison> {
    this.#settle();
    return this.compare(newest, this.#files.bookmarkBefore(oldest));
  }

  /**
   * Groups the commits of the bookmarks into as few runs as possible, the newest first.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE
   */
  runsOf(bookmarks: readonly string[]): CommitRun[] {
    this.#settle();
    const runs: CommitRun[] = [];
    for (const bookmark of [...new Set(bookmarks)].sort().reverse()) {
      const last = runs.at(-1);
      if (last && this.#files.isNext(bookmark, last.oldest)) last.oldest = bookmark;
      else runs.push({ newest: bookmark, oldest: bookmark });
    }
    return runs;
  }

  /** Opens a state for a comparison; null stands for the present state. @throws as `compare` */
  async openState(at: string | number | null): Promise<OpenState> {
    this.#settle();
    const files = this.#files;
    const bookmark =
      typeof at === 'number' ? await files.bookmarkForTime(at) : (at ?? files.currentBookmark());
    const state = await files.openPast(bookmark);
    return {
      bookmark,
      state,
      use() {
        if (state.ended) throw state.ended;
        files.usePast(state);
      },
      close: () => files.closePast(state),
    };
  }

  /**
   * The state that a branch began with; it is open as long as the branch.
   *
   * @throws INVALID_ARGUMENT for other objects
   */
  get beginning(): OpenState {
    const state = this.#files.beginning;
    if (state === null) {
      throw storageError(
        'INVALID_ARGUMENT',
        'diff: the object is not a branch; name the moment to compare from.',
      );
    }
    return {
      bookmark: null,
      state,
      use() {
        if (!state.ended) return;
        throw storageError('OBJECT_RESET', 'The origin of the branch has restarted meanwhile.');
      },
      close() {},
    };
  }

  /**
   * Compares two states, also of branches of the object, and closes them in any case.
   *
   * @throws the reason if a state has ended; WORKER_FAILED without the late parts
   */
  async compareStates(before: OpenState, after: OpenState): Promise<Comparison> {
    const states = [before, after];
    try {
      const late = await lateCode.load('diff, merge and revert');
      for (const state of states) state.use();
      const comparison = new late.Comparison({
        before,
        after,
        openDatabase: this.#openDatabase,
        isCancelled: () => this.#environment.isCancelled?.() ?? false,
      });
      // Leave out the state that a branch began with: the branch's files watch when that one ends.
      const opened = states.filter(({ state }) => state !== this.#files.beginning);
      this.#closeWithStates(
        comparison,
        opened.map(({ state }) => state),
      );
      return comparison;
    } catch (error) {
      for (const state of states) state.close();
      throw error;
    }
  }

  /** Closes every moment. */
  end(): void {
    for (const moment of this.#moments) moment.close();
    this.#moments.clear();
  }

  /** Closes the view when one of its states ends, but in a later turn, because a state may end while SQLite commits. */
  #closeWithStates(view: Closable, states: readonly PastState[]): void {
    this.#moments.add(view);
    for (const state of states) {
      state.whenEnded(() =>
        this.#environment.nextTurn(() => {
          if (this.#moments.delete(view)) view.close();
        }),
      );
    }
  }

  #momentOf(bookmark: string, state: PastState): Moment {
    if (state.ended) throw state.ended; // The state may have ended together with the storage.
    const moment = new Moment({
      bookmark,
      state,
      files: this.#files,
      openDatabase: this.#openDatabase,
      isCancelled: () => this.#environment.isCancelled?.() ?? false,
    });
    this.#closeWithStates(moment, [state]);
    return moment;
  }
}
