// The part of an object's storage that its branches use: it begins branches, and lets a branch replace the object's
// state.
//
// Invariant: the commit that a branch begins with is durable.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { sequenceIn } from '../log/bookmark.ts';
import type { KeptBranches } from '../log/kept-branches.ts';
import type { KeptPages } from '../log/kept-pages.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import type { PastState } from '../log/past-state.ts';

type BranchLog = Pick<ObjectFiles, 'branches' | 'holdMoment' | 'pinPast' | 'closePast'>;

/** The functions of the object's storage that branches need. */
interface Owner {
  currentBookmark(): string;
  bookmarkForTime(timeMs: number): string | Promise<string>;
  durability(): Promise<void> | undefined;
}

export class BranchPoint {
  readonly #log: BranchLog;
  readonly #owner: Owner;

  constructor(log: BranchLog, owner: Owner) {
    this.#log = log;
    this.#owner = owner;
  }

  /** The list of named branches. */
  get kept(): KeptBranches {
    return this.#log.branches;
  }

  /**
   * Makes a branch from the present state (null), or from the state of a bookmark or a time. The commit of that state
   * is durable, and the history keeps it while `make` creates the branch.
   *
   * @throws BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, DISK_FULL, IO; errors of `make`
   */
  async begin<T>(at: string | number | null, make: (bookmark: string) => Promise<T>): Promise<T> {
    const owner = this.#owner;
    const now = owner.currentBookmark();
    const named = typeof at === 'number' ? await owner.bookmarkForTime(at) : (at ?? now);
    const { bookmark, release } = await this.#log.holdMoment(named);
    try {
      await owner.durability();
      return await make(bookmark);
    } finally {
      release();
    }
  }

  /** Opens the state for a branch; see ObjectFiles. @throws BOOKMARK_UNAVAILABLE, CORRUPT, DISK_FULL */
  open(bookmark: string, kept: KeptPages): Promise<PastState> {
    return this.#log.pinPast(bookmark, kept);
  }

  close(state: PastState): void {
    this.#log.closePast(state);
  }

  /** Checks that the object is still in the state that the branch began with. @throws CONFLICT if it is not */
  mustBeAt(bookmark: string): void {
    if (sequenceIn(this.#owner.currentBookmark()) === sequenceIn(bookmark)) return;
    throw storageError(
      'CONFLICT',
      'promote: the object has changed since the branch began; merge the branch, or fork again.',
    );
  }
}
