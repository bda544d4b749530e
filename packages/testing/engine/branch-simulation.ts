// Simulates an object and its branches on disks that lose power, fail and fill up, through many hosts.
//
// Checked after each opening, and after each failure:
// - the object and every kept branch have their acknowledged state, or that of a later attempted change;
// - an acknowledged branch that is kept exists, whatever became of its origin's history, and a deleted branch is gone;
// - promote and merge have changed the object as a whole or not at all, and bookmarks still name their states.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectStub } from '../../../src/shared/contract/object.ts';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import type { StorageBranch, StorageHandle } from '../../../src/shared/contract/storage.ts';
import { ClassRegistry } from '../../../worker/objects/instance/object-class.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { objectsOn } from '../../../worker/start/entries/objects-on.ts';
import { CrashCatalog } from '../simulate/world/crash-catalog.ts';
import { CrashMedium } from '../simulate/world/crash-medium.ts';
import { DrivenTime } from '../simulate/world/driven-time.ts';
import { Random } from '../simulate/world/random.ts';
import { SettleChecker, turnOfEventLoop } from '../simulate/world/settle.ts';
import {
  allOf,
  areEqual,
  ignoreOutcome,
  isRefusal,
  isReset,
  type Keys,
  keysOf,
  type Mark,
  Node,
  textOf,
} from './branch-model.ts';
import type { BranchStep, BranchStepKind } from './branch-plan.ts';
import { checkConflicts, checkImage, keysAt, keysByDiff, keysIn } from './branch-reads.ts';
import { bytesOf } from './contents.ts';
import { SimulationFailure, withStep } from './history.ts';
import { historyOf } from './plan.ts';
import type { WatchedSqlite } from './watched-sqlite.ts';

class BranchedClass extends DurableObject {
  abort(): void {
    this.ctx.abort('The simulation aborts the object.');
  }
}

const CLASSES = { Branched: BranchedClass };
const NAMES = ['x', 'y', 'z'];
const KEYS = 12;
const NODES_MAX = 6;
const IDLE_MS = 300;
const DAY_MS = 86_400_000;
const WINDOW_MS = 30 * DAY_MS;
const START_MS = Date.UTC(2030, 0, 1);
/** The largest number of possible disks that are examined after a power failure. */
const SURVIVORS_MAX = 3;
/** How often a call is repeated if its branch was reset together with its origin. */
const RETRIES_MAX = 10;

type Stub = ReturnType<Objects<typeof CLASSES>['env']['Branched']['getByName']>;

export class BranchSimulation {
  readonly totals = {
    crashes: 0,
    forks: 0,
    deletes: 0,
    promotes: 0,
    merges: 0,
    conflicts: 0,
    restores: 0,
    faults: 0,
  };
  readonly #sqlite: WatchedSqlite;
  readonly #steps: readonly BranchStep[];
  readonly #random: Random;
  readonly #time = new DrivenTime(START_MS);
  readonly #checker = new SettleChecker();
  readonly #origin = new Node({
    parent: null,
    name: null,
    keys: new Map(),
    forkVersion: null,
  });
  readonly #fileSizes;
  readonly #history;
  #medium: CrashMedium;
  #catalog: CrashCatalog;
  #objects!: Objects<typeof CLASSES>;
  #exported: { readonly bytes: Uint8Array; readonly keys: Keys } | null = null;
  /** The failed calls on files that happened before the last check; only later ones may explain a failure. */
  #failedCalls = 0;

  constructor(sqlite: WatchedSqlite, seed: number, steps: readonly BranchStep[]) {
    this.#sqlite = sqlite;
    this.#steps = steps;
    this.#random = new Random(seed);
    const random = this.#random;
    this.#fileSizes = {
      segmentBytes: random.pick([1 << 14, 1 << 15, 1 << 16]),
      checkpointOverlayBytes: random.pick([1 << 14, 1 << 16, 1 << 20]),
      checkpointLogBytes: random.pick([1 << 13, 1 << 15, 1 << 17]),
      isChecked: true,
    };
    this.#history = historyOf(seed);
    this.#medium = new CrashMedium(random, { flush: random.pick(['now', 'late']) });
    this.#catalog = new CrashCatalog(random);
  }

  /** Runs the whole simulation, and returns its counts. @throws SimulationFailure, NeverSettled */
  async run(): Promise<Record<string, number>> {
    await this.#start();
    try {
      for (const [index, { kind, seed }] of this.#steps.entries()) {
        this.#random.reseed(seed);
        try {
          await this.#run(kind);
        } catch (error) {
          throw withStep(error, index, kind);
        }
      }
      await this.#losePower();
    } finally {
      this.#medium.powerOff();
      await this.#objects.close().catch(() => {});
      this.#sqlite.takeViolations();
    }
    return this.totals;
  }

  async #run(kind: BranchStepKind): Promise<void> {
    const mayBeFull = this.#medium.disks.some((disk) => disk.mayBeFull);
    try {
      await this.#perform(kind);
      if (mayBeFull) this.#origin.mayBePruned();
      if (this.#medium.isOff) await this.#losePower();
    } catch (error) {
      if (!this.#isExpected(error)) throw error;
      if (this.#medium.isOff) await this.#losePower();
      else await this.#checkAfterFailure();
    }
    const found = this.#sqlite.takeViolations();
    for (const disk of this.#medium.disks) found.push(...disk.violations.splice(0));
    if (found.length > 0) throw new SimulationFailure(found.join('; '));
  }

  /** Returns whether a power failure, a fault, a full disk or a reset of the origin explains the error. */
  #isExpected(error: unknown): boolean {
    if (!isStorageError(error)) return false;
    if (this.#medium.isOff || isReset(error)) return true;
    const isOfDisk = error.code === 'IO' || error.code === 'DISK_FULL';
    return isOfDisk && this.#medium.failedCalls > this.#failedCalls;
  }

  async #perform(kind: BranchStepKind): Promise<void> {
    const random = this.#random;
    const { disks } = this.#medium;
    switch (kind) {
      case 'write': {
        const nodes = random.shuffle(this.#origin.all).slice(0, random.pick([1, 1, 1, 2, 3]));
        return this.#settled('together', allOf(nodes.map((node) => this.#write(node))));
      }
      case 'unconfirmed': {
        const node = this.#pick();
        const handle = await this.#durableHandle(node);
        const [key, value] = this.#entry();
        node.attempt(new Map(node.last).set(key, value));
        const stored = [value, bytesOf(value)];
        return this.#settled('unconfirmed', handle.put(key, stored, { allowUnconfirmed: true }));
      }
      case 'mark': {
        const node = this.#pick();
        const handle = await this.#durableHandle(node);
        const bookmark = await this.#call('bookmark', () => handle.getCurrentBookmark());
        if (node === this.#origin && node.last.size === 0) return; // The object may not exist.
        return node.mark({ bookmark, keys: node.last, timeMs: this.#time.now() });
      }
      case 'look':
        return this.#checkBookmark(this.#pick());
      case 'fork':
        return this.#fork(this.#pick());
      case 'end': {
        const node = random.pick(this.#origin.all);
        if (node.parent === null || node.isKept) return;
        const { handle } = node;
        node.remove();
        for (const { handle: below } of node.all.slice(1)) await below?.close();
        await handle!.close();
        return;
      }
      case 'delete':
        return this.#delete(this.#pick());
      case 'promote':
        // Only a branch whose origin has not changed can be promoted; a few of the others are tried, to check the
        // refusal.
        return this.#promote(
          random.pick(
            this.#origin.all.filter((node) => node.isUpToDate !== false || random.onceIn(4)),
          ),
        );
      case 'merge':
        return this.#merge(this.#pick());
      case 'restore': {
        const node = this.#pick();
        const mark = random.pick([...node.marks, undefined]);
        if (mark === undefined) return;
        // The state may be pruned before the restore.
        if (this.#time.now() - mark.timeMs >= WINDOW_MS) return;
        this.totals.restores++;
        return this.#replace(node, mark.keys, async (handle) => {
          try {
            return await handle.restore(mark.bookmark);
          } catch (error) {
            this.#checkRefusal(mark, error);
            return null;
          }
        });
      }
      case 'exported': {
        const node = this.#pick();
        const handle = await this.#durableHandle(node);
        const bytes = await this.#call('export', () => handle.exportDatabase());
        this.#exported = { bytes, keys: node.last };
        return;
      }
      case 'imported': {
        const image = this.#exported;
        if (image === null) return;
        const bytes = image.bytes.slice();
        return this.#replace(this.#pick(), image.keys, (handle) => handle.importDatabase(bytes));
      }
      case 'deleteAll': {
        const node = this.#pick();
        const handle = await this.#open(node);
        const acknowledge = node.attempt(new Map());
        await this.#settled('deleteAll', handle.deleteAll());
        return acknowledge();
      }
      case 'days':
        await this.#advance(random.pick([12, 31]) * DAY_MS);
        for (let i = 0; i < 4; i++) await this.#write(this.#pick());
        return;
      case 'evict':
        return this.#advance(2 * IDLE_MS).then(() => this.#check(true));
      case 'abort':
        await this.#settled('abort', ignoreOutcome(this.#stub().abort()));
        return this.#check(true);
      case 'close':
        // After a failed flush, a new process cannot know which bytes were dropped, so power is lost here, too.
        if (this.#medium.failedCalls > 0) return this.#losePower();
        await this.#settled('close', ignoreOutcome(this.#objects.close()));
        if (this.#medium.failedCalls > 0 || this.#medium.isOff) return this.#losePower();
        await this.#start();
        return this.#check(true);
      case 'loss':
        return this.#medium.powerOff();
      case 'lossSoon':
        return this.#medium.powerOffAfter(random.below(random.pick([3, 10, 30, 100])));
      case 'fault': {
        const code = random.pick(['IO', 'DISK_FULL'] as const);
        if (code === 'DISK_FULL') this.#origin.mayBePruned();
        this.totals.faults++;
        const calls = random.below(random.pick([1, 4, 20]));
        if (disks.length > 0) random.pick(disks).failAfter(calls, code, random.pick([1, 1, 2]));
        return;
      }
      case 'fullDisk':
        this.#origin.mayBePruned();
        for (const disk of disks) {
          disk.capacityBytes = disk.usedBytes() + random.below(random.pick([100, 60_000]));
        }
        return;
      case 'room':
        for (const disk of disks) disk.capacityBytes = Number.POSITIVE_INFINITY;
    }
  }

  #entry(): [string, number] {
    return [`k${this.#random.below(KEYS)}`, 1 + this.#random.below(0x1000_0000)];
  }

  /** Makes one to four writes at once; each is acknowledged separately. */
  async #write(node: Node): Promise<void> {
    const handle = await this.#durableHandle(node); // an unconfirmed write may be lost without an error
    const count = this.#random.pick([1, 1, 2, 4]);
    const writes = Array.from({ length: count }, () => {
      const [key, value] = this.#entry();
      const acknowledge = node.attempt(new Map(node.last).set(key, value));
      return handle.put(key, [value, bytesOf(value)]).then(acknowledge);
    });
    await this.#settled('write', allOf(writes));
  }

  async #fork(parent: Node): Promise<void> {
    const random = this.#random;
    if (this.#origin.all.length >= NODES_MAX) return;
    const handle = await this.#durableHandle(parent);
    const isTemporary = parent.parent !== null && !parent.isKept;
    const names = NAMES.filter((name) => !parent.children.some((child) => child.name === name));
    const name = isTemporary || random.onceIn(4) ? undefined : names[0];
    const mark = random.pick([...parent.marks, undefined, undefined]);
    const keys = mark === undefined ? parent.last : mark.keys;
    const forkVersion = mark === undefined ? parent.version : mark.version;
    const node = new Node({ parent, name: name ?? null, keys, forkVersion });
    node.existenceIsUnknown = true;
    if (name !== undefined) parent.children.push(node);
    const options = {
      ...(name !== undefined && { name, keep: true }),
      ...(mark !== undefined && { at: mark.bookmark }),
    };
    // Meanwhile the origin may write and prune its history.
    const writes = mark !== undefined && random.onceIn(2) ? this.#write(parent) : undefined;
    writes?.catch(() => {});
    try {
      node.handle = await this.#settled('fork', handle.fork(options));
    } catch (error) {
      if (mark !== undefined && isRefusal(error)) {
        this.#checkRefusal(mark, error);
        node.remove();
        await writes;
        return;
      }
      await ignoreOutcome(writes);
      throw error;
    }
    this.totals.forks++;
    node.existenceIsUnknown = false;
    if (name === undefined) parent.children.push(node);
    await writes;
    if (random.onceIn(2)) await this.#write(node);
  }

  async #delete(node: Node): Promise<void> {
    const { parent, name } = node;
    if (parent === null || name === null) return;
    const handle = await this.#open(parent);
    node.existenceIsUnknown = true;
    const existed = await this.#call('delete', () => handle.deleteBranch(name));
    if (!existed) throw new SimulationFailure(`${textOf(node)} is not there to be deleted`);
    this.totals.deletes++;
    node.remove();
  }

  async #promote(node: Node): Promise<void> {
    const { parent } = node;
    if (parent === null) return;
    const branch = await this.#durableHandle(node);
    const handle = await this.#durableHandle(parent);
    const { isUpToDate } = node;
    const before = parent.last;
    const { version } = parent;
    const acknowledge = parent.attempt(node.last);
    try {
      const promoted = handle.promote(branch as Parameters<StorageHandle['promote']>[0]);
      const undo = await this.#settled('promote', promoted);
      if (isUpToDate === false) {
        throw new SimulationFailure(`${textOf(node)} overwrote changes of its origin`);
      }
      acknowledge();
      parent.recordUndoBookmark({ bookmark: undo, keys: before, timeMs: this.#time.now() });
      this.totals.promotes++;
    } catch (error) {
      if (!isStorageError(error) || error.code !== 'CONFLICT') throw error;
      if (isUpToDate === true) throw new SimulationFailure(`${textOf(node)}: ${error.message}`);
      parent.possible.pop();
      parent.version = version;
      return;
    }
    const [newest] = await this.#call('history', () => handle.history({ limit: 1 }));
    if (!newest?.isPromote) throw new SimulationFailure('the newest commit is not that of promote');
  }

  /** Merges a branch, sometimes twice at once, or while its origin is reset. */
  async #merge(node: Node): Promise<void> {
    const random = this.#random;
    const { parent } = node;
    if (parent === null) return;
    const branch = await this.#durableHandle(node);
    const handle = await this.#durableHandle(parent);
    const decision = random.pick([undefined, undefined, 'ours', 'theirs'] as const);
    const { keys, conflicts } = node.mergedInto(parent.last, decision === 'theirs');
    const changed = await this.#read('diff', node, (one) =>
      keysByDiff(one as StorageBranch, node.initialKeys),
    );
    if (!areEqual(changed, node.last))
      throw new SimulationFailure(`${textOf(node)} differs in ${keysOf(changed)}`);
    const isRefused = conflicts.length > 0 && decision === undefined;
    const acknowledge = areEqual(keys, parent.last) || isRefused ? () => {} : parent.attempt(keys);
    const options = decision === undefined ? {} : { onConflict: decision };
    const merge = () => handle.merge(branch as StorageBranch, options);
    // Two tabs may merge at once; the second then finds nothing to merge.
    const works: Promise<unknown>[] = [merge()];
    if (random.onceIn(3)) works.push(merge());
    if (parent === this.#origin && random.onceIn(4))
      works.push(ignoreOutcome(this.#stub().abort()));
    try {
      await this.#settled('merge', allOf(works));
    } catch (error) {
      checkConflicts(error, isRefused ? conflicts : []);
      this.totals.conflicts++;
      return;
    }
    if (isRefused) throw new SimulationFailure(`${textOf(node)} overwrote ${conflicts}`);
    acknowledge();
    this.totals.merges++;
    await this.#checkKeys(parent, false);
  }

  /** Replaces the whole state of a node by `replace`, which returns null if it is refused. */
  async #replace(
    node: Node,
    keys: Keys,
    replace: (handle: StorageHandle) => Promise<string | null>,
  ): Promise<void> {
    const handle = await this.#durableHandle(node);
    const before = node.last;
    const acknowledge = node.attempt(keys);
    const undo = await this.#settled('replace', replace(handle));
    if (undo === null) {
      node.possible.pop();
      return;
    }
    acknowledge();
    node.recordUndoBookmark({ bookmark: undo, keys: before, timeMs: this.#time.now() });
  }

  async #advance(durationMs: number): Promise<void> {
    await this.#time.advance(durationMs, turns).then(turns);
  }

  async #start(): Promise<void> {
    this.#failedCalls = 0;
    for (const node of this.#origin.all) {
      node.handle = null;
      if (node.parent !== null && !node.isKept) node.remove();
    }
    const platform = {
      sqlite: this.#sqlite.sqlite,
      medium: this.#medium,
      catalog: this.#catalog,
      time: this.#time,
      turns: { nextTurn: (task: () => void) => void turnOfEventLoop().then(task) },
      fileSizes: this.#fileSizes,
      isDedicated: false,
    };
    const hosted = { classes: new ClassRegistry(CLASSES, {}), env: {} };
    const options = { idleMs: IDLE_MS, history: this.#history };
    this.#objects = await objectsOn(platform, hosted, options);
  }

  /** Lets power fail, checks some of the possible disks, and continues with the last one. */
  async #losePower(): Promise<void> {
    const random = this.#random;
    let catalog = this.#catalog;
    let lost = this.#medium;
    for (let left = 1 + random.below(SURVIVORS_MAX); left > 0; left--) {
      this.#medium.powerOff();
      await this.#settled('loss', ignoreOutcome(this.#objects.close()));
      if (this.#medium !== lost && random.onceIn(2)) {
        lost = this.#medium;
        catalog = this.#catalog;
      }
      this.totals.crashes++;
      this.#medium = lost.afterLoss();
      this.#catalog = catalog.afterLoss();
      await this.#start();
      const isLast = left === 1;
      if (!isLast && random.onceIn(2)) this.#medium.powerOffAfter(random.below(40));
      try {
        await this.#check(isLast);
      } catch (error) {
        if (!this.#medium.isOff || !isStorageError(error)) throw error;
      }
    }
  }

  /** Checks every node after a failure, without further faults: each has the state of an attempted change. */
  async #checkAfterFailure(): Promise<void> {
    this.#medium.heal();
    await this.#check(true);
    this.#failedCalls = this.#medium.failedCalls;
  }

  /** Checks all nodes; with `narrows`, the states that were found are the expected ones from now on. */
  async #check(narrows: boolean): Promise<void> {
    await this.#checkNode(this.#origin, narrows);
  }

  async #checkNode(node: Node, narrows: boolean): Promise<void> {
    await this.#checkKeys(node, narrows);
    const listed = await this.#call('branches', async () => (await this.#open(node)).branches());
    const names = listed.map(({ name }) => name);
    const kept = node.children.filter(({ isKept }) => isKept);
    const unknown = names.find((name) => !kept.some((child) => child.name === name));
    if (unknown !== undefined) throw new SimulationFailure(`a branch ${unknown} exists`);
    for (const child of node.children) {
      const exists = !child.isKept || names.includes(child.name!);
      if (!exists && !child.existenceIsUnknown)
        throw new SimulationFailure(`${textOf(child)} is missing`);
      if (narrows && !exists) child.remove();
      if (narrows && exists) child.existenceIsUnknown = false;
      if (exists) await this.#checkNode(child, narrows);
    }
  }

  async #checkKeys(node: Node, narrows: boolean): Promise<void> {
    await this.#call('sync', async () => (await this.#open(node)).sync());
    const found = await this.#read('list', node, keysIn);
    const same = node.possible.findLast((keys) => areEqual(keys, found));
    if (same === undefined) {
      throw new SimulationFailure(
        `${textOf(node)} has ${keysOf(found)}, not ${node.possible.map(keysOf).join(' or ')}`,
      );
    }
    if (narrows) node.recordFound(same);
    if (this.#random.onceIn(3)) await this.#checkIntegrity(node);
    await this.#checkBookmark(node);
  }

  /** Checks that a bookmark still names its state. */
  async #checkBookmark(node: Node): Promise<void> {
    const mark = this.#random.pick([...node.marks, undefined]);
    if (mark === undefined) return;
    try {
      const found = await this.#read('at', node, (handle) => keysAt(handle, mark.bookmark));
      if (areEqual(mark.keys, found)) return;
      throw new SimulationFailure(
        `${mark.bookmark} of ${textOf(node)} names ${keysOf(found)}, not ${keysOf(mark.keys)}`,
      );
    } catch (error) {
      if (!isRefusal(error)) throw error;
      this.#checkRefusal(mark, error);
    }
  }

  async #checkIntegrity(node: Node): Promise<void> {
    const image = await this.#call('export', async () => (await this.#open(node)).exportDatabase());
    await checkImage(image, this.#sqlite);
  }

  /** Accepts a refusal that has a documented reason. @throws SimulationFailure, or the error */
  #checkRefusal(mark: Mark, error: unknown): void {
    if (!isRefusal(error)) throw error;
    const isBounded = this.#history.bytes !== undefined;
    if (isBounded || mark.mayBePruned || this.#time.now() - mark.timeMs >= WINDOW_MS) return;
    throw new SimulationFailure(`the bookmark ${mark.bookmark} is refused: ${String(error)}`);
  }

  /** Returns a random node that exists. */
  #pick(): Node {
    return this.#random.pick([this.#origin, ...this.#origin.all]);
  }

  #stub(): Stub {
    return this.#objects.env.Branched.getByName('a') as Stub;
  }

  async #open(node: Node): Promise<StorageHandle> {
    const { parent, name } = node;
    node.handle ??=
      parent === null
        ? await this.#settled(
            'storage',
            this.#objects.storage(this.#stub() as unknown as DurableObjectStub),
          )
        : await this.#call('openBranch', async () => (await this.#open(parent)).openBranch(name!));
    return node.handle;
  }

  /** Returns a handle, once the node's last state is durable. */
  async #durableHandle(node: Node): Promise<StorageHandle> {
    const handle = await this.#open(node);
    if (node.possible.length > 1) await this.#settled('sync', handle.sync());
    if (node.possible.length > 1) await this.#checkKeys(node, true);
    return handle;
  }

  #read(label: string, node: Node, read: (handle: StorageHandle) => Promise<Keys>): Promise<Keys> {
    return this.#call(label, async () => read(await this.#open(node)));
  }

  /** Makes a call that changes nothing, and repeats it until no reset interrupts it. */
  async #call<T>(label: string, call: () => Promise<T>): Promise<T> {
    for (let i = 0; ; i++) {
      try {
        return await this.#settled(label, call());
      } catch (error) {
        if (!isReset(error) || this.#medium.isOff || i === RETRIES_MAX) throw error;
      }
    }
  }

  async #settled<T>(label: string, promise: Promise<T>): Promise<T> {
    const watched = this.#checker.watch(label, promise);
    watched.catch(() => {});
    await this.#checker.settled(label, turns);
    return watched;
  }
}

async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await turnOfEventLoop();
}
