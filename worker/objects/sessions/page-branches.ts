// The branches that one session of a page has forked.
//
// Invariant: when the session closes, each branch ends that the session has forked and that no session has opened. Once
// opened, a branch belongs to the sessions that have it open, and is removed from this list when the next branch is
// forked.
// The host asserts that each use of a branch ends once.

import { branchAddress, type ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { StateName } from '../../../src/shared/contract/state-name.ts';
import type { CallOf } from '../../../src/shared/wire/operations.ts';
import type { BranchFacts } from '../../../src/shared/wire/results.ts';
import type { KeptBranch } from '../../engine/log/kept-branches.ts';
import type { OpenState } from '../../engine/storage/past.ts';
import type { Branches } from '../host/branches.ts';
import type { ObjectInstance } from '../instance/object-instance.ts';

export interface NamedState {
  readonly opened: OpenState;
  readonly name: StateName;
}

export class PageBranches {
  readonly #branches: Branches;
  #unused: ObjectAddress[] = [];
  #isClosed = false;

  constructor(branches: Branches) {
    this.#branches = branches;
  }

  /** Forks the object. @throws as `Branches.fork` */
  async fork(instance: ObjectInstance, call: CallOf<'fork'>): Promise<BranchFacts> {
    const { bookmark, timeMs, name, isKept, sends } = call;
    const request = { at: bookmark ?? timeMs, name, isKept, sends };
    const branch = await this.#branches.fork(instance, request);
    const address = branchAddress(instance.address, branch.id);
    this.#unused = [...this.#unused, address].filter((made) => this.#branches.isUnused(made));
    if (this.#isClosed) this.close();
    return factsOf(branch, isKept);
  }

  /** Lists the kept branches of the object. */
  list(instance: ObjectInstance): BranchFacts[] {
    return this.#branches.list(instance).map((branch) => factsOf(branch, true));
  }

  /** Deletes a kept branch of the object. @throws DISK_FULL, IO */
  delete(instance: ObjectInstance, name: string): Promise<boolean> {
    return this.#branches.delete(instance, name);
  }

  /**
   * Opens a state of the object, or of one of its branches, to be compared; null means the present state. The result
   * has a name, by which the same state can be opened later.
   *
   * @throws BRANCH_ENDED, BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, MEMORY_FULL
   */
  async openState({ address, storage }: ObjectInstance, at: StateName): Promise<NamedState> {
    if (typeof at !== 'object' || at === null) {
      const opened = await storage.past.openState(at);
      return { opened, name: opened.bookmark };
    }
    const { branch, bookmark } = at;
    const opened = await this.#branches.openState(branchAddress(address, branch), bookmark);
    return { opened, name: { branch, bookmark: opened.bookmark } };
  }

  close(): void {
    this.#isClosed = true;
    for (const address of this.#unused) this.#branches.abandon(address);
  }
}

function factsOf({ id, name, bookmark, createdMs }: KeptBranch, isKept: boolean): BranchFacts {
  return { id, name, bookmark, createdMs, isKept };
}
