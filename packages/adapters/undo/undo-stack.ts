// Undo and redo of the commits that one tab makes, while other tabs go on.
//
// Invariant: calls run one after the other, and each begins by reading the commits that are new, so that an undo meets
// the latest one, and knows its own commit from the app's. An entry is taken back by one commit, or not at all.
//
// Does not know how a commit is reverted, nor who made it: the log does.

import { isStorageError, storageError } from '@ctx-storage/core/errors';
import type { UndoOptions, UndoStack, UndoState } from '@ctx-storage/core/live';
import { followCommits } from '@ctx-storage/core/live';
import type { ConflictError, StorageCommit, StorageHandle } from '@ctx-storage/core/storage';
import { OwnCommits } from './own-commits.ts';
import { type Direction, type Group, UndoEntries, type UndoEntry } from './undo-entries.ts';

/** The history of an entry is gone, and so is that of all entries before it. */
const GONE = new Set(['BOOKMARK_UNAVAILABLE', 'BOOKMARK_INVALID']);

interface StackOptions extends Required<UndoOptions> {
  /** Resolves after a while. */
  readonly pause: () => Promise<void>;
}

/** An undo or redo whose commit is looked for. */
interface Taking {
  readonly direction: Direction;
  readonly entry: UndoEntry;
  /** Its commit; undefined: the answer was lost. */
  readonly bookmark: string | undefined;
}

export class CommitStack extends EventTarget implements UndoStack {
  readonly #storage: StorageHandle;
  readonly #options: StackOptions;
  readonly #commits: OwnCommits;
  readonly #entries: UndoEntries;
  readonly #groups = new Set<Group>();
  readonly #unfollow: () => void;
  #conflict: { readonly direction: Direction; readonly error: ConflictError } | null = null;
  #error: unknown = null;
  /** The calls under way, one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  #isReading = false;
  #isDue = false;
  #isClosed = false;
  #state: UndoState;

  constructor(storage: StorageHandle, options: StackOptions) {
    super();
    this.#storage = storage;
    this.#options = options;
    this.#commits = new OwnCommits(storage);
    this.#entries = new UndoEntries(options.groupMs, options.depth);
    this.#state = this.#currentState();
    // At once, so that what the app writes next is known to be new.
    void this.#readNotified();
    this.#unfollow = followCommits(
      storage,
      () => void this.#readNotified(),
      (error) => this.#failed(error),
    );
  }

  get state(): UndoState {
    return this.#state;
  }

  get canUndo(): boolean {
    return this.#state.canUndo;
  }

  get canRedo(): boolean {
    return this.#state.canRedo;
  }

  get undoLabel(): string | null {
    return this.#state.undoLabel;
  }

  get redoLabel(): string | null {
    return this.#state.redoLabel;
  }

  get conflict(): ConflictError | null {
    return this.#state.conflict;
  }

  undo(): Promise<boolean> {
    return this.#inTurn(() => this.#take('undo'));
  }

  redo(): Promise<boolean> {
    return this.#inTurn(() => this.#take('redo'));
  }

  skip(): boolean {
    if (this.#conflict === null) return false;
    const { direction } = this.#conflict;
    const entry = this.#entries.last(direction);
    if (entry !== undefined) this.#entries.remove(direction, entry);
    this.#conflict = null;
    this.#tell();
    return true;
  }

  async group<T>(name: string, task: (view: StorageHandle) => T | PromiseLike<T>): Promise<T> {
    const group = { name, isOver: false };
    // Calls that were made before it are not part of it.
    await this.#inTurn(() => this.#read());
    this.#groups.add(group);
    try {
      return await this.#storage.labelled(name, task);
    } finally {
      group.isOver = true;
      await this.#inTurn(() => this.#read()).catch((error) => this.#failed(error));
    }
  }

  clear(): void {
    this.#entries.clear('undo', 'redo');
    this.#conflict = null;
    this.#tell();
  }

  close(): void {
    this.#isClosed = true;
    this.#unfollow();
    this.clear();
  }

  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => {
      if (!this.#isClosed) return task();
      throw storageError('CONNECTION_CLOSED', 'The undo stack was closed; make another one.');
    });
    this.#last = result.catch(() => {}); // the caller receives the error
    return result;
  }

  async #take(direction: Direction): Promise<boolean> {
    await this.#read();
    for (;;) {
      const entry = this.#entries.last(direction);
      if (entry === undefined) return false;
      entry.isSealed = true;
      const isDone = await this.#revert(direction, entry);
      this.#tell();
      if (isDone) return true;
      // Somebody has taken it back already.
    }
  }

  /** Takes the entry back, or makes it again. False: there was nothing to do. @throws as `undo` */
  async #revert(direction: Direction, entry: UndoEntry): Promise<boolean> {
    let bookmark: string | null | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      bookmark = await this.#storage.revert(entry.bookmarks);
    } catch (error) {
      if (isStorageError(error) && error.code === 'CONFLICT') {
        this.#conflict = { direction, error: error as ConflictError };
        this.#tell();
        throw error;
      }
      if (isStorageError(error) && GONE.has(error.code)) {
        this.#entries.clear(direction);
        this.#tell();
        throw error;
      }
      failure = { error };
    }
    if (bookmark !== null) {
      // An answer that was lost with its worker may have been that of a commit: the history knows.
      const isMade = await this.#read({ direction, entry, bookmark });
      if (isMade) return true;
      if (failure !== undefined) throw failure.error;
    }
    this.#conflict = null;
    this.#entries.remove(direction, entry);
    return false;
  }

  /** Reads the new commits. True if the commit that is looked for is one of them. @throws as `history` */
  async #read(taking?: Taking): Promise<boolean> {
    const over = [...this.#groups].filter(({ isOver }) => isOver);
    const { own, isReplaced } = await this.#commits.read();
    if (isReplaced) this.#entries.clear('undo', 'redo');
    let isMade = false;
    for (const commit of own) {
      if (taking !== undefined && !isMade && isCommitOf(taking, commit)) {
        isMade = true;
        this.#conflict = null;
        this.#entries.move(taking.direction, taking.entry, commit.bookmark);
      } else if (this.#options.filter(commit)) {
        this.#entries.add(commit, this.#groups);
        this.#conflict = null;
      }
    }
    for (const group of over) this.#groups.delete(group);
    this.#error = null;
    this.#tell();
    return isMade;
  }

  /** Reads after a notice; several notices during a reading are one. Its failure is shown, and the next call meets it. */
  async #readNotified(): Promise<void> {
    this.#isDue = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false;
      await this.#inTurn(() => this.#read()).catch((error) => this.#failed(error));
      await this.#options.pause();
    }
    this.#isReading = false;
  }

  #failed(error: unknown): void {
    if (this.#isClosed) return;
    this.#error = error;
    this.#tell();
  }

  #tell(): void {
    const state = this.#currentState();
    const names = Object.keys(state) as (keyof UndoState)[];
    if (names.every((name) => state[name] === this.#state[name])) return;
    this.#state = state;
    this.dispatchEvent(new Event('change'));
  }

  #currentState(): UndoState {
    const [undo, redo] = [this.#entries.last('undo'), this.#entries.last('redo')];
    return {
      canUndo: undo !== undefined,
      canRedo: redo !== undefined,
      undoLabel: undo?.label ?? null,
      redoLabel: redo?.label ?? null,
      conflict: this.#conflict?.error ?? null,
      error: this.#error,
    };
  }
}

function isCommitOf({ bookmark }: Taking, commit: StorageCommit): boolean {
  return commit.by?.kind === 'revert' && (bookmark ?? commit.bookmark) === commit.bookmark;
}
