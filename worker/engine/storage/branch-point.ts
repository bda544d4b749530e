// Where branches of an object begin, and how one becomes the object: what branches need of their origin's storage.
//
// Invariant: a branch names a commit that is durable. Does not know how branches are opened, or who uses them.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { sequenceIn } from '../log/bookmark.ts';
import type { KeptBranches } from '../log/kept-branches.ts';
import type { KeptPages } from '../log/kept-pages.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import type { PastState } from '../log/past-state.ts';

type BranchLog = Pick<ObjectFiles, 'branches' | 'holdMoment' | 'pinPast' | 'closePast'>;

/** What it needs of the storage. */
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

  /** The branches that are kept. */
  get kept(): KeptBranches {
    return this.#log.branches;
  }

  /**
   * Makes a branch that begins with a commit: of now (null), of a bookmark or of a time. The commit is durable, and the
   * history keeps it until the branch is made.
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

  /** @throws CONFLICT if the object is not in the state that the branch began with */
  mustBeAt(bookmark: string): void {
    if (sequenceIn(this.#owner.currentBookmark()) === sequenceIn(bookmark)) return;
    throw storageError(
      'CONFLICT',
      'promote: the object has changed since the branch began; merge the branch, or fork again.',
    );
  }
}
