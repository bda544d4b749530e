// The branches of a host's objects: where each begins, and the files that its instance opens.
//
// A branch is an object of its own, whose database lies on a moment of its origin: the files of the branch hold only the
// pages that it has changed. A branch that is not kept ends with the last of its holders, and its files are in
// memory until they are large. A branch that is kept is in its origin's list of branches.
//
// Invariants: the origin stays open while an instance of a branch is, and keeps the history that its branches need. An
// instance of a branch is reset when its origin is, and the next one finds the same moment. A branch ends with its origin.

import type { BranchMergeResult } from '../../../src/shared/contract/changes.ts';
import type { Decisions } from '../../../src/shared/contract/decisions.ts';
import {
  isStorageError,
  type StorageError,
  storageError,
} from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import { BRANCH_DEPTH_MAX } from '../../../src/shared/contract/limits.ts';
import {
  addressKey,
  branchAddress,
  branchKey,
  branchOrigin,
  type ObjectAddress,
} from '../../../src/shared/contract/object-id.ts';
import type { ObjectMedium } from '../../engine/file/medium.ts';
import { ScratchDirectory } from '../../engine/file/scratch-directory.ts';
import type { Annotation } from '../../engine/log/annotation.ts';
import { sequenceIn } from '../../engine/log/bookmark.ts';
import type { BranchBase } from '../../engine/log/branch-main.ts';
import type { LogEnvironment } from '../../engine/log/commit-log.ts';
import {
  KEPT_BRANCHES_NAME,
  type KeptBranch,
  KeptBranches,
} from '../../engine/log/kept-branches.ts';
import { PagesInFile } from '../../engine/log/kept-pages.ts';
import { ObjectFiles } from '../../engine/log/object-files.ts';
import type { PastState } from '../../engine/log/past-state.ts';
import type { OpenState } from '../../engine/storage/past.ts';
import type { ObjectInstance, OpenedBranch } from '../instance/object-instance.ts';
import type { Cancellation } from '../io/cancellation.ts';
import type { Instances } from './instances.ts';
import { type ListedFolders, originKeys } from './listed-folders.ts';
import { promoteBranch } from './replace-database.ts';

/** How often the states of a merge are opened before it rejects. */
const TRIES_MAX = 3;

/** The parameters of a new branch. */
export interface ForkRequest {
  /** A bookmark, a time in milliseconds, or now. */
  readonly at: string | number | null;
  readonly name: string | null;
  readonly isKept: boolean;
  /** If true, messages of the code on the branch to the outside are sent; if false, they are refused. */
  readonly sends: boolean;
  /** Called with each instance of a branch that is not kept, before its object is constructed. */
  readonly prepare?: OpenedBranch['prepare'];
}

/** A branch that is not kept. */
type NotKept = Omit<KeptBranch, 'isLeaving' | 'isStored'> & Pick<ForkRequest, 'prepare'>;
interface Temporary extends NotKept {
  readonly files: ScratchDirectory;
  /** How many sessions use it; null: none has yet. */
  holders: number | null;
}

interface Environment {
  now(): number;
  randomUint32(): number;
  readonly medium: ObjectMedium;
}

export class Branches {
  readonly #instances: Instances;
  readonly #folders: ListedFolders;
  readonly #environment: Environment;
  /** The temporary branches, by the key of their origin, then by id. */
  readonly #temporary = new Map<string, Map<string, Temporary>>();
  /** The last opening of a branch, by depth. */
  readonly #openings = new Map<number, Promise<unknown>>();
  /** Folders of pages of origins that are being removed. */
  readonly #leaving = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(instances: Instances, folders: ListedFolders, environment: Environment) {
    this.#instances = instances;
    this.#folders = folders;
    this.#environment = environment;
  }

  /** The sequence of the oldest moment of an object that a branch in memory needs; infinite: there is none. */
  pinnedSequence(key: string): number {
    const branches = [...(this.#temporary.get(key)?.values() ?? [])];
    return Math.min(...branches.map(({ bookmark }) => sequenceIn(bookmark)));
  }

  /**
   * Makes a branch, within an event of its origin. Nothing is opened. A temporary branch waits for its first holder.
   *
   * @throws INVALID_ARGUMENT; BOOKMARK_INVALID, BOOKMARK_UNAVAILABLE, CORRUPT, DISK_FULL, IO
   */
  async fork(origin: ObjectInstance, request: ForkRequest): Promise<KeptBranch> {
    this.#checkFork(origin, request);
    return origin.storage.branchPoint.begin(request.at, (bookmark) =>
      this.#forkAt(origin, request, bookmark),
    );
  }

  async #forkAt(
    origin: ObjectInstance,
    request: ForkRequest,
    bookmark: string,
  ): Promise<KeptBranch> {
    const { kept } = origin.storage.branchPoint;
    const key = addressKey(origin.address);
    const branch: KeptBranch = {
      id: this.#newId(),
      name: request.name,
      bookmark,
      createdMs: this.#environment.now(),
      sends: request.sends,
      isLeaving: false,
      isStored: false,
    };
    void this.#sweep(key, kept);
    if (request.isKept) {
      await resetIfListWriteFails(origin, kept.add(branch));
      return branch;
    }
    const moved = branchKey(key, branch.id);
    const { medium } = this.#environment;
    const files = new ScratchDirectory(
      () => medium.directory(moved),
      () => medium.remove(moved),
    );
    const branches = this.#temporary.get(key) ?? new Map<string, Temporary>();
    branches.set(branch.id, { ...branch, files, holders: null, prepare: request.prepare });
    this.#temporary.set(key, branches);
    return branch;
  }

  /** Registers a user of a branch. The result ends this use; after the last one, a branch that is not kept ends. */
  hold(address: ObjectAddress): () => void {
    const found = this.#find(address);
    if (found === undefined) return () => {};
    found.holders = (found.holders ?? 0) + 1;
    let isHeld = true;
    return () => {
      assert(isHeld, 'a use of a branch ended twice');
      isHeld = false;
      found.holders = (found.holders ?? 1) - 1;
      if (found.holders === 0) this.#drop(address);
    };
  }

  /** True of a branch that is not kept and has had no user yet. */
  isUnused(address: ObjectAddress): boolean {
    return this.#find(address)?.holders === null;
  }

  /** Called when the creator of the branch is gone: ends the branch, unless it is kept or was used by anyone else. */
  abandon(address: ObjectAddress): void {
    if (this.isUnused(address)) this.#drop(address);
  }

  /**
   * Opens the files of a branch on its origin, which is opened too. Of each depth one is opened at a time: an opening
   * holds its origin while it waits for files, and many would wait for each other's origins.
   *
   * @throws BRANCH_ENDED, OBJECT_MISSING, and what opening the origin, its moment and the files throws
   */
  open(address: ObjectAddress, environment: LogEnvironment): Promise<OpenedBranch> {
    const depth = address.branch!.length;
    const earlier = this.#openings.get(depth) ?? Promise.resolve();
    const opened = earlier.then(() => this.#openNext(address, environment));
    this.#openings.set(
      depth,
      opened.catch(() => {}),
    );
    return opened;
  }

  async #openNext(address: ObjectAddress, environment: LogEnvironment): Promise<OpenedBranch> {
    const way = wayTo(address);
    const useOrigin = async (origin: ObjectInstance): Promise<OpenedBranch> => {
      const { branchPoint } = origin.storage;
      const found = this.#mustFind(address, origin);
      const release = origin.retain();
      const key = addressKey(address);
      const { medium } = this.#environment;
      const scratch = new ScratchDirectory(
        () => medium.directory(baseKey(key)),
        () => medium.remove(baseKey(key)),
      );
      const letGo = () => {
        release();
        const ended = scratch.end().catch(() => {}); // If this fails, the next host removes the files.
        this.#leaving.add(ended);
        void ended.then(() => this.#leaving.delete(ended));
      };
      let state: PastState;
      try {
        const kept = new PagesInFile(await scratch.open('pages'));
        state = await branchPoint.open(found.bookmark, kept);
      } catch (error) {
        letGo();
        throw error;
      }
      const base = new OriginMoment(state, () => {
        state.whenEnded(() => {}); // The branch has ended without this call.
        branchPoint.close(state);
        letGo();
      });
      state.whenEnded(() => this.#originEnded(address));
      try {
        const directory = 'files' in found ? found.files : await medium.directory(key);
        const files = await ObjectFiles.open(directory, environment, { base });
        if ('isStored' in found && found.isStored && files.committedSequence === 0) {
          await files.close();
          throw missingBranch(found.name);
        }
        const prepare = 'prepare' in found ? found.prepare : undefined;
        return { files, sends: found.sends, prepare };
      } catch (error) {
        base.release();
        throw error;
      }
    };
    return this.#instances.use(way.origin, useOrigin, () => branchEnded('its origin is deleted'));
  }

  /** A branch has a durable commit: if it is kept, a later loss of its files is noticed. */
  stored(address: ObjectAddress): void {
    const way = wayTo(address);
    const origin = this.#instances.live(addressKey(way.origin));
    // If this write fails, a loss of the files is not noticed; the next opening tries again.
    origin?.storage.branchPoint.kept.markStored(way.id).catch(() => {});
  }

  /** The branches of an object that are kept. */
  list({ storage }: ObjectInstance): KeptBranch[] {
    return staying(storage.branchPoint.kept);
  }

  /** Lists the kept branches of an object without opening it. @throws CORRUPT, IO, TOO_MANY_OPEN */
  listStored(key: string): Promise<KeptBranch[]> {
    return this.#instances.inspect(
      key,
      (origin) => this.list(origin),
      async () => {
        const kept = await this.#keptStored(key);
        return kept === null ? [] : staying(kept); // If `kept` is null, the object was deleted meanwhile.
      },
    );
  }

  /** True if the object has a branch, kept or not. */
  has({ address, storage }: ObjectInstance): boolean {
    return storage.branchPoint.kept.list.length > 0 || this.#temporary.has(addressKey(address));
  }

  /** Deletes a branch that is kept; false if there is none of this name. @throws DISK_FULL, IO */
  async delete(origin: ObjectInstance, name: string): Promise<boolean> {
    const { kept } = origin.storage.branchPoint;
    const found = this.list(origin).find((branch) => branch.name === name);
    if (found === undefined) return false;
    await resetIfListWriteFails(origin, kept.leave(found.id));
    await this.#removeKept(addressKey(origin.address), kept, found.id);
    return true;
  }

  /** Makes the state of a branch that of its origin, durably; see ObjectHost. */
  promote(address: ObjectAddress, cancellation?: Cancellation, by?: Annotation): Promise<string> {
    return this.#instances.use(address, async (branch) => {
      const { storage } = branch;
      const way = wayTo(address);
      const now = await branch.deliver(() => ({
        bookmark: storage.currentBookmark(),
        alarm: storage.storedAlarm,
      }));
      const state = await storage.branchPoint.open(now.bookmark, new Map());
      try {
        return await this.#instances.use(way.origin, (origin) => {
          const { bookmark: began } = this.#mustFind(address, origin);
          return promoteBranch(origin, { began, state, alarm: now.alarm }, cancellation, by);
        });
      } finally {
        storage.branchPoint.close(state);
      }
    });
  }

  /** Opens a state of a branch to be compared: of a bookmark of its own, or of now. @throws BRANCH_ENDED, as `at` */
  openState(address: ObjectAddress, bookmark: string | null): Promise<OpenState> {
    return this.#instances.use(address, (branch) =>
      branch.deliver(() => branch.storage.past.openState(bookmark)),
    );
  }

  /**
   * Makes on the origin of a branch what the branch has changed since it began, durably; see ObjectHost. Nothing of the
   * origin waits while the states are opened.
   */
  async merge(
    address: ObjectAddress,
    bookmark: string | null,
    decisions: Decisions | null,
    cancellation?: Cancellation,
    by?: Annotation,
  ): Promise<BranchMergeResult> {
    const way = wayTo(address);
    let at = bookmark;
    for (let tries = 1; ; tries++) {
      const opened = await this.#instances.use(address, (branch) =>
        branch.deliver(async () => {
          const { past } = branch.storage;
          const after = await past.openState(at);
          return {
            branchBookmark: after.bookmark!,
            comparison: await past.compareStates(past.beginning, after),
          };
        }),
      );
      const { branchBookmark, comparison } = opened;
      at = branchBookmark;
      try {
        const result = await this.#instances.use(way.origin, (origin) => {
          this.#mustFind(address, origin);
          const change = () => {
            cancellation?.check();
            return origin.storage.makeChanges(comparison, decisions);
          };
          return origin.deliver(change, null, by);
        });
        return { ...result, branchBookmark };
      } catch (error) {
        // The branch was closed to make room while it waited for its origin, and has changed nothing.
        const isClosed = isStorageError(error) && error.code === 'MOMENT_CLOSED';
        if (!isClosed || tries === TRIES_MAX) throw error;
      } finally {
        comparison.close();
      }
    }
  }

  /** The object is about to be removed, and has no instance: all of its branches end. @throws IO */
  async endAll(address: ObjectAddress): Promise<void> {
    const key = addressKey(address);
    const reason = branchEnded('its origin was deleted');
    for (const id of this.#temporary.get(key)?.keys() ?? []) {
      await this.#end(branchAddress(address, id), reason);
    }
    await this.#removeBelow(key, reason);
    for (const folder of (await this.#folders.list()).branches) {
      if (idBelow(folder, key) !== null) await this.#environment.medium.remove(folder);
    }
  }

  /** The host is closed, and nothing is open: removes the files of branches that are not kept. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const temporary = [...this.#temporary.values()].flatMap((branches) => [...branches.values()]);
    this.#temporary.clear();
    const ended = temporary.map(({ files }) => files.end()); // The next host removes what stays.
    await Promise.allSettled([...ended, ...this.#leaving]);
  }

  /** Removes the files of branches of an earlier host, which has crashed. Opens no object. */
  async sweep(): Promise<void> {
    try {
      for (const origin of new Set((await this.#folders.list()).branches.flatMap(originKeys))) {
        const kept = await this.#instances.inspect(
          origin,
          ({ storage }) => storage.branchPoint.kept,
          () => this.#keptStored(origin),
        );
        await this.#removeLeft(origin, kept);
      }
    } catch {
      // Space that is not used: a fork of the object, or its deletion, tries again.
    }
  }

  /** Ends a branch without waiting. If its files cannot be removed now, the next host removes them. */
  #drop(address: ObjectAddress): void {
    this.#end(address, branchEnded('it was closed')).catch(() => {});
  }

  #checkFork(origin: ObjectInstance, { name, isKept }: ForkRequest): void {
    const { address } = origin;
    const isTemporary = this.#find(address) !== undefined;
    if (isKept && isTemporary) {
      throw invalidFork('a branch of a branch that is not kept cannot be kept: keep its origin.');
    }
    if ((address.branch?.length ?? 0) >= BRANCH_DEPTH_MAX) {
      throw invalidFork(`branches nest at most ${BRANCH_DEPTH_MAX} deep.`);
    }
    if (!isKept) return;
    if (name === null) throw invalidFork('a branch that is kept needs a name.');
  }

  #find(address: ObjectAddress): Temporary | undefined {
    const way = branchOrigin(address);
    return way === null ? undefined : this.#temporary.get(addressKey(way.origin))?.get(way.id);
  }

  /** @throws BRANCH_ENDED */
  #mustFind(address: ObjectAddress, { storage }: ObjectInstance): Temporary | KeptBranch {
    const temporary = this.#find(address);
    if (temporary !== undefined) return temporary;
    const kept = storage.branchPoint.kept.find(wayTo(address).id);
    if (kept !== undefined && !kept.isLeaving) return kept;
    throw branchEnded(
      'it was closed or deleted, or its origin or the worker that held it has ended',
    );
  }

  // The instance is reset in a later microtask: SQLite may be on the stack now.
  #originEnded(address: ObjectAddress): void {
    void this.#instances.reset(addressKey(address), originRestarted());
  }

  /** Ends a branch that is not kept, and those below it. @throws IO */
  async #end(address: ObjectAddress, reason: Error): Promise<void> {
    const found = this.#find(address);
    if (found === undefined) return;
    const way = wayTo(address);
    const originKey = addressKey(way.origin);
    const siblings = this.#temporary.get(originKey)!;
    siblings.delete(way.id);
    if (siblings.size === 0) this.#temporary.delete(originKey);
    const key = addressKey(address);
    for (const id of this.#temporary.get(key)?.keys() ?? []) {
      await this.#end(branchAddress(address, id), reason);
    }
    await this.#instances.end(key, reason, () => found.files.end());
  }

  /** Removes the files of a branch that is leaving, and forgets it. @throws IO, DISK_FULL */
  async #removeKept(originKey: string, kept: KeptBranches, id: string): Promise<void> {
    const key = branchKey(originKey, id);
    const reason = branchEnded('it was deleted');
    await this.#instances.end(key, reason, async () => {
      await this.#removeBelow(key, reason);
      await this.#environment.medium.remove(key);
    });
    await kept.remove(id);
  }

  /** Removes the branches that an object without an instance keeps, and those below them. @throws IO */
  async #removeBelow(originKey: string, reason: Error): Promise<void> {
    const { medium } = this.#environment;
    for (const id of await this.#keptIds(originKey)) {
      const key = branchKey(originKey, id);
      await this.#instances.end(key, reason, async () => {
        await this.#removeBelow(key, reason);
        await medium.remove(key);
      });
    }
  }

  /** Reads the list of an object without an instance; null if the object has no list. @throws CORRUPT, IO */
  async #keptStored(key: string): Promise<KeptBranches | null> {
    const { medium } = this.#environment;
    const files = await medium.sizes(key);
    if (!files.has(KEPT_BRANCHES_NAME)) return null;
    return KeptBranches.open(await medium.directory(key), [...files.keys()]);
  }

  /** Removes the folders of branches of the object that do not exist. @throws IO */
  async #removeLeft(originKey: string, kept: KeptBranches | null): Promise<void> {
    for (const key of (await this.#folders.list()).branches) {
      if (this.#isClosed || kept?.isClosed) return; // A branch may have been added since the read.
      const id = idBelow(key, originKey);
      if (id === null || !this.#isLeft(key, originKey, id, kept)) continue;
      await this.#environment.medium.remove(key);
    }
  }

  /** Returns the ids of the kept branches of an object without an instance, from folders if its list is damaged. @throws IO */
  async #keptIds(originKey: string): Promise<Iterable<string>> {
    const { medium } = this.#environment;
    const directory = await medium.directory(originKey);
    try {
      const kept = await KeptBranches.open(directory, await directory.names());
      return kept.list.map(({ id }) => id);
    } catch (error) {
      if (!isStorageError(error) || error.code !== 'CORRUPT') throw error;
      const keys = await medium.keys();
      return new Set(keys.flatMap((key) => idBelow(key, originKey) ?? []));
    }
  }

  /** Removes what an earlier host left of branches of this object: temporary branches, and interrupted deletions. */
  async #sweep(originKey: string, kept: KeptBranches): Promise<void> {
    try {
      const leaving = kept.list.filter(({ isLeaving }) => isLeaving);
      for (const { id } of leaving) await this.#removeKept(originKey, kept, id);
      await this.#removeLeft(originKey, kept);
    } catch {
      // Space that is not used: the next fork tries again.
    }
  }

  /** True if no branch of the object has this folder: it, or pages of its moment, are of an earlier host. */
  #isLeft(key: string, originKey: string, id: string, kept: KeptBranches | null): boolean {
    if (this.#temporary.get(originKey)?.has(id)) return false;
    const own = branchKey(originKey, id);
    if (own === baseKey(originKey)) return !this.#instances.has(originKey);
    if (kept?.find(id) !== undefined) return key === baseKey(own) && !this.#instances.has(own);
    return !this.#instances.has(own); // A branch with an instance is ending; its folder is removed then.
  }

  #newId(): string {
    const words = [0, 1, 2, 3].map(() => this.#environment.randomUint32());
    return words.map((word) => word.toString(16).padStart(8, '0')).join('');
  }
}

/** The object, or branch, that a branch was forked from, and its id there. @throws INTERNAL for an object */
function wayTo(address: ObjectAddress) {
  const way = branchOrigin(address);
  assert(way !== null, 'an object was used as a branch');
  return way;
}

/** The branches that are not being deleted. */
function staying({ list }: KeptBranches): KeptBranch[] {
  return list.filter(({ isLeaving }) => !isLeaving);
}

/** The moment of the origin, as the files of a branch read it. */
class OriginMoment implements BranchBase {
  readonly state: PastState;
  readonly #close: () => void;
  readonly pageCount: number;

  constructor(state: PastState, close: () => void) {
    this.state = state;
    this.#close = close;
    this.pageCount = state.pageCount;
  }

  read(target: Uint8Array, offset: number): boolean {
    if (this.state.ended) throw originRestarted();
    return this.state.read(target, offset);
  }

  release(): void {
    this.#close();
  }
}

/** A change of the list that failed is perhaps stored: the object is reset, and its next instance knows. */
async function resetIfListWriteFails(origin: ObjectInstance, change: Promise<void>): Promise<void> {
  try {
    await change;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === 'IO' || code === 'DISK_FULL') origin.reset(error, 'storage');
    throw error;
  }
}

/** Where the earlier pages of a branch's origin go when they are many. */
function baseKey(key: string): string {
  return branchKey(key, 'base');
}

/** The id of the object's branch that a folder is of, or is below; null if there is none. */
function idBelow(key: string, originKey: string): string | null {
  const begin = branchKey(originKey, '');
  return key.startsWith(begin) ? key.slice(begin.length).split(/[~.]/)[0]! : null;
}

function invalidFork(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `fork: ${fact}`);
}

function branchEnded(fact: string): StorageError {
  return storageError('BRANCH_ENDED', `The branch has ended: ${fact}. Fork again.`);
}

function missingBranch(name: string | null): StorageError {
  return storageError(
    'OBJECT_MISSING',
    `The branch ${JSON.stringify(name)} was stored, and its files are gone; deleteBranch(name) accepts that.`,
  );
}

function originRestarted(): Error {
  return storageError(
    'OBJECT_RESET',
    'The origin of the branch has restarted, and the branch with it.',
  );
}
