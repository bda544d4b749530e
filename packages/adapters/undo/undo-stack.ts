// Undo and redo of the commits that one tab makes, while other tabs go on writing.
//
// Invariant: calls run one after the other. Each begins by reading the new commits, so that an undo takes back the
// latest one, and does not mistake its own commit for one of the app. An entry is undone by one commit, or not at all.
// The storage reverts commits, and its history says who made them.

import { isStorageError, storageError } from '@ctx-storage/core/errors';
import type { UndoOptions, UndoStack, UndoState } from '@ctx-storage/core/live';
import { followCommits } from '@ctx-storage/core/live';
import type { ConflictError, StorageCommit, StorageHandle } from '@ctx-storage/core/storage';
import { OwnCommits } from './own-commits.ts';
import { type Direction, type Group, UndoEntries, type UndoEntry } from './undo-entries.ts';

/** The codes which mean that the history of an entry was pruned, and so that of all entries before it. */
const HISTORY_GONE_CODES = new Set(['BOOKMARK_UNAVAILABLE', 'BOOKMARK_INVALID']);

interface StackOptions extends Required<UndoOptions> {
  /** Waits between two readings of the history. */
  readonly pause: () => Promise<void>;
}

/** An undo or redo whose commit is expected in the history. */
interface ExpectedCommit {
  readonly direction: Direction;
  readonly entry: UndoEntry;
  /** The bookmark of the commit, or undefined if the answer was lost. */
  readonly bookmark: string | undefined;
}

export class CommitStack extends EventTarget implements UndoStack {
  readonly #storage: StorageHandle;
  readonly #options: StackOptions;
  readonly #commits: OwnCommits;
  readonly #entries: UndoEntries;
  readonly #groups = new Set<Group>();
  readonly #stopFollowing: () => void;
  #conflict: { readonly direction: Direction; readonly error: ConflictError } | null = null;
  #error: unknown = null;
  /** Settles when all calls so far have ended; each call waits for it. */
  #lastCall: Promise<unknown> = Promise.resolve();
  #isReading = false;
  #isReadAgain = false;
  #isClosed = false;
  #state: UndoState;

  constructor(storage: StorageHandle, options: StackOptions) {
    super();
    this.#storage = storage;
    this.#options = options;
    this.#commits = new OwnCommits(storage);
    this.#entries = new UndoEntries(options.groupMs, options.depth);
    this.#state = this.#currentState();
    // The first reading starts at once, so that the app's next commit counts as new.
    void this.#readNotified();
    this.#stopFollowing = followCommits(
      storage,
      () => void this.#readNotified(),
      (error) => this.#showError(error),
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
    return this.#runInTurn(() => this.#undoOrRedo('undo'));
  }

  redo(): Promise<boolean> {
    return this.#runInTurn(() => this.#undoOrRedo('redo'));
  }

  skip(): boolean {
    if (this.#conflict === null) return false;
    const { direction } = this.#conflict;
    const entry = this.#entries.last(direction);
    if (entry !== undefined) this.#entries.remove(direction, entry);
    this.#conflict = null;
    this.#publishState();
    return true;
  }

  async group<T>(name: string, task: (view: StorageHandle) => T | PromiseLike<T>): Promise<T> {
    const group = { name, isOver: false };
    // This reading finds the commits that were made before the group, which are not part of it.
    await this.#runInTurn(() => this.#read());
    this.#groups.add(group);
    try {
      return await this.#storage.labelled(name, task);
    } finally {
      group.isOver = true;
      await this.#runInTurn(() => this.#read()).catch((error) => this.#showError(error));
    }
  }

  clear(): void {
    this.#entries.clear('undo', 'redo');
    this.#conflict = null;
    this.#publishState();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopFollowing();
    this.clear();
  }

  #runInTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#lastCall.then(() => {
      if (!this.#isClosed) return task();
      throw storageError('CONNECTION_CLOSED', 'The undo stack was closed; make another one.');
    });
    this.#lastCall = result.catch(() => {}); // the caller gets the error
    return result;
  }

  async #undoOrRedo(direction: Direction): Promise<boolean> {
    await this.#read();
    for (;;) {
      const entry = this.#entries.last(direction);
      if (entry === undefined) return false;
      entry.isSealed = true;
      const isDone = await this.#revert(direction, entry);
      this.#publishState();
      if (isDone) return true;
      // Another tab has undone this entry already, so the next entry is tried.
    }
  }

  /** Undoes or redoes the entry. Returns false if there was nothing to revert. @throws the errors of `undo` */
  async #revert(direction: Direction, entry: UndoEntry): Promise<boolean> {
    let bookmark: string | null | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      bookmark = await this.#storage.revert(entry.bookmarks);
    } catch (error) {
      if (isStorageError(error) && error.code === 'CONFLICT') {
        this.#conflict = { direction, error: error as ConflictError };
        this.#publishState();
        throw error;
      }
      if (isStorageError(error) && HISTORY_GONE_CODES.has(error.code)) {
        this.#entries.clear(direction);
        this.#publishState();
        throw error;
      }
      failure = { error };
    }
    if (bookmark !== null) {
      // If the answer was lost with its worker, the history shows whether the commit was made.
      const isFound = await this.#read({ direction, entry, bookmark });
      if (isFound) return true;
      if (failure !== undefined) throw failure.error;
    }
    this.#conflict = null;
    this.#entries.remove(direction, entry);
    return false;
  }

  /** Reads the new commits. Returns true if the expected commit is one of them. @throws the errors of `history` */
  async #read(expected?: ExpectedCommit): Promise<boolean> {
    const endedGroups = [...this.#groups].filter(({ isOver }) => isOver);
    const { own, isReplaced } = await this.#commits.read();
    if (isReplaced) this.#entries.clear('undo', 'redo');
    let isFound = false;
    for (const commit of own) {
      if (expected !== undefined && !isFound && isExpectedCommit(expected, commit)) {
        isFound = true;
        this.#conflict = null;
        this.#entries.move(expected.direction, expected.entry, commit.bookmark);
      } else if (this.#options.filter(commit)) {
        this.#entries.add(commit, this.#groups);
        this.#conflict = null;
      }
    }
    for (const group of endedGroups) this.#groups.delete(group);
    this.#error = null;
    this.#publishState();
    return isFound;
  }

  /** Reads after a notification, and once more if others arrive meanwhile. A failure is shown in `error`. */
  async #readNotified(): Promise<void> {
    this.#isReadAgain = true;
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isReadAgain && !this.#isClosed) {
      this.#isReadAgain = false;
      await this.#runInTurn(() => this.#read()).catch((error) => this.#showError(error));
      await this.#options.pause();
    }
    this.#isReading = false;
  }

  #showError(error: unknown): void {
    if (this.#isClosed) return;
    this.#error = error;
    this.#publishState();
  }

  #publishState(): void {
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

function isExpectedCommit({ bookmark }: ExpectedCommit, commit: StorageCommit): boolean {
  return commit.by?.kind === 'revert' && (bookmark ?? commit.bookmark) === commit.bookmark;
}
