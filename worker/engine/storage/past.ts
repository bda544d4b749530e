// The past of one object: its commits, bookmarks of times, and the moments that are open.
//
// Invariant: its answers are durable by the time that the reply leaves, and every moment ends with the
// storage.

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

/** A moment, or two that are compared. */
type Closable = Pick<Moment, 'close'>;

/** A state that is open to be compared; of the beginning of a branch, there is no bookmark. */
export interface OpenState extends ReadableState {
  readonly bookmark: string | null;
}

/** Commits with no other between them. */
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

  /** `settle` commits the writes of this turn, and has the reply wait for every commit so far. */
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

  /** True if the next opening shows the state of a restore that was requested. */
  get isToBeRestored(): boolean {
    return this.#files.isToBeRestored;
  }

  /** @throws BOOKMARK_UNAVAILABLE */
  bookmarkForTime(timeMs: number): string | Promise<string> {
    this.#settle();
    return this.#files.bookmarkForTime(timeMs);
  }

  /** The commits of a range, the newest first. @throws BOOKMARK_INVALID, CORRUPT */
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

  /** The states after a run and before it: the changes between them take its commits back. @throws as `compare` */
  compareBack({ newest, oldest }: CommitRun): Promise<Comparison> {
    this.#settle();
    return this.compare(newest, this.#files.bookmarkBefore(oldest));
  }

  /** The commits of the bookmarks, as few runs, the newest first. @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE */
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

  /** Opens a state to be compared: null is that of now. @throws as `compare` */
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

  /** The state that a branch began with, which is open as long as the branch is. @throws INVALID_ARGUMENT */
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
   * @throws why one has ended; WORKER_FAILED without the late parts
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
      // The files tell the branch when its beginning ends.
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

  /** Not at once: a state may end while SQLite commits. */
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
    if (state.ended) throw state.ended; // the storage broke meanwhile
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
