// Simulates one object through many openings: it works, loses power during any call, meets faults and full disks, is
// opened again, and must then equal the model.
//
// Checked at every opening:
// - no acknowledged commit is missing, and the state is the whole state of one commit;
// - an acknowledged restore was made exactly, or refused for a documented reason;
// - bookmarks keep their order, and those that were returned as durable work.
//
// After every step, no file or statement was used after its end, and every call settled.

import { isStorageError, storageError } from '../../../src/shared/contract/errors.ts';
import { CrashDisk, type SimulatedDisk } from '../simulate/world/crash-disk.ts';
import { Random } from '../simulate/world/random.ts';
import { HISTORY_TURNS_MAX, promised } from '../simulate/world/settle.ts';
import { AuthoredTurns, type StateEnd } from './authored-turns.ts';
import { checkCommits, checkNewest } from './commit-check.ts';
import { type Contents, difference, EMPTY, MARK } from './contents.ts';
import { checkDamages } from './damage-check.ts';
import { History, SimulationFailure, withStep } from './history.ts';
import { type Found, type FoundRestored, identify } from './identify.ts';
import type { Plan, Step } from './plan.ts';
import type { RequestedRestores, RestoreRequest } from './requested-restores.ts';
import { Restores } from './restores.ts';
import { RowDisk } from './row-disk.ts';
import { SimulatedObject, type World } from './simulated-object.ts';
import { NO_TOTALS, type Totals } from './totals.ts';
import { WallClock } from './wall-clock.ts';
import type { WatchedSqlite } from './watched-sqlite.ts';
import { Draft, Workload } from './workload.ts';

const START_MS = Date.UTC(2030, 0, 1);
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The largest number of possible disks that are examined after a power failure. */
const SURVIVORS_MAX = 8;

export class ObjectSimulation {
  readonly totals: Totals = { ...NO_TOTALS };
  readonly #plan: Plan;
  readonly #world: World;
  readonly #random = new Random(0);
  readonly #clock = new WallClock(START_MS);
  readonly #work: Workload;
  readonly #turns: AuthoredTurns;
  /** True if the object keeps only few bytes of history. */
  readonly #isBounded: boolean;
  readonly #isThinned: boolean;
  readonly #history: History;
  #disk: SimulatedDisk;
  #object!: SimulatedObject;
  readonly #restores = new Restores();
  #image: { readonly bytes: Uint8Array; readonly contents: Contents } | null = null;
  /** True if the object was opened since its commits were last read. */
  #wasReopened = false;
  /** The number of calls on files that had failed before the object was opened. */
  #failedCalls = 0;

  constructor(sqlite: WatchedSqlite, plan: Plan) {
    this.#plan = plan;
    this.#isBounded = plan.sizes.history?.bytes !== undefined;
    const first = { contents: EMPTY, timeMs: START_MS };
    this.#isThinned = plan.sizes.history?.thin === true;
    this.#history = new History(first, this.#clock, this.#isBounded, this.#isThinned);
    const isOfRows = plan.medium === 'rows';
    this.#disk = isOfRows ? new RowDisk(this.#random) : new CrashDisk(this.#random, plan.disk);
    const { sizes } = plan;
    this.#world = { sqlite, random: this.#random, clock: this.#clock, sizes };
    this.#work = new Workload(this.#random, () => this.#clock.nowMs, sqlite.allocator);
    this.#turns = new AuthoredTurns({
      random: this.#random,
      work: this.#work,
      history: this.#history,
      world: this.#world,
      elapsedMs: () => this.#clock.elapsedMs,
      endState: (what) => this.#endState(what),
    });
  }

  /** Runs the whole simulation, and returns its counts. @throws SimulationFailure, NeverSettled */
  async run(): Promise<Totals> {
    this.#random.reseed(this.#plan.seed);
    try {
      await this.#open();
      for (const [index, step] of this.#plan.steps.entries()) await this.#run(step, index);
      if (this.#isThinned) await this.#checkThinnedBookmarks();
      await this.#damage();
    } finally {
      this.#disk.powerOff();
      await this.#object?.reset().catch(() => {});
      this.#world.sqlite.takeViolations();
    }
    return this.totals;
  }

  async #run(step: Step, index: number): Promise<void> {
    this.#random.reseed(step.seed);
    this.#clock.elapsedMs += 1 + this.#random.below(90_000);
    const { mayBeFull } = this.#disk;
    if (mayBeFull) this.#history.mayBePruned();
    if (this.#plan.isAuthored) this.#turns.beginEventOfAnybody();
    try {
      if (this.#wasReopened) await this.#checkNewestCommits(2);
      await this.#perform(step);
      if (mayBeFull) this.#history.mayBePruned(); // the history of this step may be pruned, too
      if (this.#object.isBroken || this.#disk.isOff) await this.#recover();
    } catch (error) {
      if (!this.#isExpected(error)) throw withStep(error, index, step.kind);
      try {
        await this.#recover();
      } catch (failure) {
        throw withStep(failure, index, step.kind);
      }
    }
    this.#checkViolations(index, step);
  }

  /** Returns whether a power failure, a fault or a full disk explains the error. */
  #isExpected(error: unknown): boolean {
    if (!isStorageError(error)) return false;
    if (this.#disk.isOff) return true;
    // A read of the history rejects with OBJECT_RESET if the fault of another call has reset the object.
    const isOfFault = ['IO', 'DISK_FULL', 'OBJECT_RESET'].includes(error.code);
    return isOfFault && this.#disk.failedCalls > this.#failedCalls;
  }

  #checkViolations(index: number, step: Step): void {
    const found = [...this.#disk.violations, ...this.#world.sqlite.takeViolations()];
    if (found.length > 0) throw withStep(new SimulationFailure(found.join('; ')), index, step.kind);
  }

  async #perform({ kind, seed }: Step): Promise<void> {
    const random = this.#random;
    switch (kind) {
      case 'write': // Half of the writes are unconfirmed.
        return this.#write((draft) => this.#changes(draft, seed % 2 === 0));
      case 'acknowledgedWrite':
        if (this.#isBounded) this.#bookmark();
        this.#write((draft) => this.#changes(draft));
        await this.#acknowledge();
        return this.#isBounded ? this.#checkStateBeforeLast() : undefined;
      case 'bulk':
        return this.#write((draft) => this.#work.bulk(this.#object, draft, random.pick([10, 50])));
      case 'clear':
        return this.#write((draft) => this.#work.clear(this.#object, draft));
      case 'large':
        return this.#large();
      case 'type':
        return this.#type();
      case 'transaction':
      case 'noMemory':
        return this.#transaction(kind);
      case 'deleteAll':
        return this.#deleteAll();
      case 'acknowledge':
        return this.#acknowledge();
      case 'turn':
        return this.#turn();
      case 'bookmark':
        return this.#bookmark();
      case 'restore':
        return this.#restore();
      case 'lookUpTime':
        return this.#lookUpTime();
      case 'exportDatabase':
        return this.#export();
      case 'importDatabase':
        return this.#import();
      case 'checkpoint': {
        const made = promised(() => this.#object.files.checkpoint());
        await this.#object.outcome('checkpoint', made);
        return;
      }
      case 'maintain':
        return this.#object.outcome('maintain', this.#object.files.maintain(), HISTORY_TURNS_MAX);
      case 'close':
        await this.#object.close();
        if (this.#object.isBroken) return; // A delayed flush has broken the object.
        this.#acknowledged();
        return this.#open();
      case 'reset':
        await this.#object.reset();
        return this.#open();
      case 'loss':
        return this.#disk.powerOff();
      case 'lossSoon':
        return this.#disk.powerOffAfter(random.below(random.pick([3, 10, 30, 100])));
      case 'fault': {
        const code = random.pick(['IO', 'DISK_FULL'] as const);
        if (code === 'DISK_FULL') this.#history.mayBePruned();
        this.#totals('faults');
        return this.#disk.failAfter(
          random.below(random.pick([3, 12, 40])),
          code,
          random.pick([1, 1, 2, 9]),
        );
      }
      case 'fullDisk':
        this.#totals('fullDisks');
        this.#history.mayBePruned();
        this.#disk.capacityBytes =
          this.#disk.usedBytes() + random.below(random.pick([100, 60_000]));
        return;
      case 'room':
        this.#disk.capacityBytes = Number.POSITIVE_INFINITY;
        return;
      case 'clockStep': {
        const stepMs = random.pick([HOUR_MS, DAY_MS, 20 * DAY_MS, 40 * DAY_MS]);
        return this.#clock.step(random.pick([-1, 1]) * (1 + random.below(stepMs)));
      }
      case 'days':
        this.#clock.elapsedMs += random.pick([1, 12, 31]) * DAY_MS;
    }
  }

  #totals(key: keyof Totals): void {
    this.totals[key]++;
  }

  // ---- Work.

  /** Makes one turn that writes, and commits it. */
  #write(work: (draft: Draft) => void): void {
    if (this.#object.isBroken) return; // The previous commit has broken the object, and is the attempt.
    const draft = new Draft(this.#history.last.contents);
    this.#history.beginCommit(draft, this.#clock.elapsedMs);
    try {
      work(draft);
    } finally {
      this.#dropUnmarked(draft);
    }
    this.#object.turn();
    this.#committed();
  }

  /**
   * The mark is the last write of a turn or transaction. If it is missing, the transaction was undone or interrupted,
   * and makes no state.
   */
  #dropUnmarked({ keys }: Draft): void {
    const { contents } = this.#history.last;
    if (keys.get(MARK) === contents.keys.get(MARK)) this.#history.attempt = null;
  }

  #committed(): void {
    if (this.#object.isBroken) return; // the next opening shows the outcome of the attempt
    this.#history.committed();
    this.#totals('commits');
  }

  #changes(draft: Draft, isUnconfirmed = false): void {
    const kind = isUnconfirmed ? 'unconfirmed' : 'changes';
    this.#work[kind](this.#object, draft, this.#random.pick([1, 1, 1, 4, 20]));
  }

  async #large(): Promise<void> {
    for (let i = 0; i < 20; i++) {
      this.#clock.elapsedMs += 1000;
      this.#write((draft) => this.#work.large(this.#object, draft, 2));
      await this.#acknowledge();
    }
  }

  /** Types some words, each as a commit of its own. */
  async #type(): Promise<void> {
    for (let words = this.#random.pick([1, 2, 8]); words > 0; words--) {
      this.#clock.elapsedMs += 1000;
      this.#write((draft) => this.#work.type(this.#object, draft));
      if (this.#random.onceIn(2)) await this.#acknowledge();
    }
  }

  async #transaction(kind: 'transaction' | 'noMemory'): Promise<void> {
    const draft = new Draft(this.#history.last.contents);
    this.#history.beginCommit(draft, this.#clock.elapsedMs);
    try {
      await this.#object.outcome(kind, this.#work[kind](this.#object, draft));
    } finally {
      this.#dropUnmarked(draft);
    }
    this.#object.turn();
    if (this.#history.attempt !== null) this.#committed();
    if (this.#random.onceIn(2) && !this.#object.isBroken) this.#bookmark();
  }

  /** Makes a turn of several events. In half of the cases, each of its commits is read afterwards. */
  async #turn(): Promise<void> {
    const looks = this.#random.onceIn(2);
    if (looks) this.#bookmark();
    const since = this.#history.known.at(-1);
    const first = this.#history.states.length;
    this.#turns.run(this.#object);
    this.#object.turn();
    this.#committed();
    if (!looks || since === undefined || this.#object.isBroken) return;
    const made = this.#history.states.slice(first);
    const kept = this.#history.mayBeShort ? 'perhaps' : 'all';
    this.totals.looks += await checkCommits(this.#object, since.text, made, kept);
  }

  /** Ends the state of the running event by an operation such as a bookmark. */
  #endState(what: StateEnd): void {
    this.#history.committed();
    if (what === 'restore') this.#requestRestore();
    else if (what === 'export') this.#export();
    else this.#bookmark();
  }

  /** Checks that each of the newest commits is a whole state. */
  async #checkNewestCommits(count: number): Promise<void> {
    const { states, mayBeShort } = this.#history;
    const kept = mayBeShort ? 'perhaps' : 'all';
    this.#wasReopened = false;
    this.totals.looks += await checkNewest(this.#object, count, states, kept);
  }

  async #deleteAll(): Promise<void> {
    const { alarm } = this.#history.last.contents;
    this.#history.beginCommit({ ...EMPTY, alarm }, this.#clock.elapsedMs);
    this.#object.storage.deleteAll();
    this.#committed();
    this.#clock.elapsedMs++;
    this.#write((draft) => this.#changes(draft));
  }

  async #acknowledge(): Promise<void> {
    await this.#object.acknowledge();
    if (this.#object.isBroken) return;
    this.#acknowledged();
  }

  #acknowledged(): void {
    const before = this.#history.acknowledged;
    this.#history.acknowledge();
    const hasCommits = this.#history.acknowledged > before;
    this.#restores.acknowledged(hasCommits ? 'commits' : 'noCommit');
  }

  #export(): void {
    const { contents } = this.#history.last;
    this.#image = { bytes: this.#object.storage.databaseBytes(), contents };
  }

  async #import(): Promise<void> {
    if (this.#image === null) return;
    const { bytes, contents } = this.#image;
    this.#history.beginCommit(contents, this.#clock.elapsedMs);
    // An import cancels a requested restore once it is durable [MOVE3].
    this.#restores.requested().mayBeCancelled();
    await this.#object.replace(bytes);
    this.#committed();
    await this.#acknowledge();
    if (!this.#object.isBroken) this.#restores.settle();
    await this.#object.reset();
    await this.#open();
  }

  // ---- History.

  #bookmark(): void {
    const text = this.#object.storage.currentBookmark();
    this.#history.recordBookmark(text, this.#history.last, this.#object.isDurable);
  }

  /** Checks that the state before the last commit can be read, however few bytes of history are kept. */
  async #checkStateBeforeLast(): Promise<void> {
    const { files, isBroken } = this.#object;
    const recent = this.#history.recent;
    if (isBroken || recent === undefined) return;
    try {
      files.closePast(
        await this.#object.outcome('at', files.openPast(recent.text), HISTORY_TURNS_MAX),
      );
    } catch (error) {
      this.#history.checkRefusal([recent], error);
    }
  }

  /** Checks that each bookmark of a thinned history gives one of its possible states, or is refused. */
  async #checkThinnedBookmarks(): Promise<void> {
    this.#disk.heal();
    await this.#object.reset().catch(() => {});
    await this.#open();
    for (let i = 0; i < 20; i++) {
      await this.#object.outcome('maintain', this.#object.files.maintain(), HISTORY_TURNS_MAX);
    }
    for (const known of this.#history.known.filter(({ isDurable }) => isDurable)) {
      try {
        const opened = this.#object.storage.past.open(known.text);
        const storage = await this.#object.outcome('at', opened, HISTORY_TURNS_MAX);
        const differences = known.contents.map((contents) => difference({ storage }, contents));
        storage.close();
        if (!differences.includes(null)) {
          throw new SimulationFailure(`the bookmark ${known.text}: ${differences.join('; ')}`);
        }
        this.#totals('compared');
      } catch (error) {
        if (error instanceof SimulationFailure) throw error;
        this.#history.checkRefusal([known], error);
        this.#totals('thinned');
      }
    }
  }

  async #lookUpTime(): Promise<void> {
    const { storage } = this.#object;
    const agoMs = this.#random.below(this.#random.pick([1e5, 1e6, 29 * DAY_MS]));
    const { nowMs, wasSet } = this.#clock;
    const aboutMs = wasSet
      ? this.#clock.shownAt(this.#random.pick(this.#history.states).timeMs) + (agoMs % MINUTE_MS)
      : nowMs - agoMs;
    const shownMs = Math.min(nowMs, Math.max(START_MS, aboutMs));
    const { isDurable } = this.#object;
    let text: string;
    try {
      const found = promised(() => storage.past.bookmarkForTime(shownMs));
      text = await this.#object.outcome('bookmarkForTime', found, HISTORY_TURNS_MAX);
    } catch (error) {
      const isPruned = isStorageError(error) && error.code === 'BOOKMARK_UNAVAILABLE';
      if (isPruned && !this.#history.mustName(shownMs)) return;
      throw error;
    }
    this.#history.recordBookmarkOfTime(text, shownMs, isDurable);
  }

  async #restore(): Promise<void> {
    if (!this.#requestRestore()) return;
    if (!this.#random.onceIn(4)) await this.#acknowledge();
  }

  /** Requests a restore. Returns false if it is refused, or there is no bookmark. */
  #requestRestore(): boolean {
    const { known } = this.#history;
    if (known.length === 0) return false;
    const wanted = this.#random.pick(known);
    const request: RestoreRequest = { known: wanted, undo: null, isAcknowledged: false };
    this.#restores.add(request);
    this.#history.keepsTimeline = true;
    try {
      request.undo = this.#object.storage.restoreAtNextStart(wanted.text);
    } catch (error) {
      this.#history.checkRefusal([wanted], error);
      this.#restores.withdraw();
      return false;
    }
    this.#history.checkOrder(request.undo);
    return true;
  }

  // ---- Openings.

  /** Opens the object again after a power failure, a fault, or a failed step. */
  async #recover(): Promise<void> {
    const crashed = this.#disk;
    await this.#object.reset().catch((error: unknown) => {
      if (!this.#isExpected(error)) throw error;
    });
    const requested = this.#restores.requested();
    if (!crashed.isOff) {
      if (this.#random.onceIn(2)) crashed.heal();
      try {
        return await this.#open(requested);
      } catch (error) {
        if (!crashed.isOff || !isStorageError(error)) throw error;
      }
    }
    if (crashed.violations.length > 0) throw new SimulationFailure(crashed.violations.join('; '));
    for (let i = 1; i < SURVIVORS_MAX; i++) {
      const looked = await this.#openAfterPowerLoss(crashed, requested.copy());
      this.#disk.powerOff();
      await looked.object.reset().catch(() => {});
    }
    const { object, found } = await this.#openAfterPowerLoss(crashed, requested);
    this.#object = object;
    this.#settleOn(found);
  }

  /** Opens the files that a power failure left, with more failures during the recovery. */
  async #openAfterPowerLoss(crashed: SimulatedDisk, requested: RequestedRestores): Promise<Opened> {
    let disk = crashed;
    for (let losses = 0; ; losses++) {
      this.#totals('crashes');
      disk = disk.afterLoss();
      this.#disk = disk;
      if (losses < 4 && this.#random.onceIn(3)) disk.powerOffAfter(this.#random.below(40));
      try {
        const opened = await this.#openEventually(requested);
        if (!disk.isOff) return opened;
        await opened.object.reset().catch(() => {});
      } catch (error) {
        if (!disk.isOff || !isStorageError(error)) throw error;
      }
    }
  }

  async #open(requested = this.#restores.requested()): Promise<void> {
    const { object, found } = await this.#openEventually(requested);
    this.#object = object;
    this.#settleOn(found);
  }

  /**
   * Opens the object, which must succeed once faults have ended, there is space, or an impossible restore was refused.
   */
  async #openEventually(requested: RequestedRestores): Promise<Opened> {
    for (let attempts = 0; ; attempts++) {
      if (attempts > 3) throw new SimulationFailure('it does not open again');
      this.#failedCalls = this.#disk.failedCalls;
      let object: SimulatedObject;
      try {
        object = await SimulatedObject.open(this.#disk, this.#world);
      } catch (error) {
        this.#acceptFailedOpening(requested, error);
        continue;
      }
      try {
        return { object, found: this.#identify(object, requested) };
      } catch (error) {
        await object.reset().catch(() => {});
        if (this.#disk.isOff || !this.#isExpected(error)) throw error;
        this.#disk.heal();
      }
    }
  }

  /** Accepts a failed opening that something explains. @throws the error, if nothing does or power is off */
  #acceptFailedOpening(requested: RequestedRestores, error: unknown): void {
    const isFailing = this.#disk.failedCalls > this.#failedCalls;
    if (isFailing) requested.mayBeCancelled();
    if (this.#disk.isOff) {
      requested.interrupted((known) => this.#history.mayBeRefused(known));
      throw error;
    }
    if (this.#isExpected(error)) {
      this.#disk.heal();
      return;
    }
    const wanted = requested.requests.map(({ known }) => known);
    this.#history.checkRefusal(wanted, error);
    requested.refused(isFailing ? 'failing' : 'sound');
  }

  #identify(object: SimulatedObject, requested: RequestedRestores): Found {
    const damage = this.#random.onceIn(4) ? object.damage() : undefined;
    // SQLite reports pages that it cannot read as damage, so an injected fault explains it.
    if (this.#disk.failedCalls > this.#failedCalls) throw storageError('IO', 'A call failed.');
    if (damage !== undefined) throw new SimulationFailure(`integrity_check: ${damage}`);
    return identify(object, this.#history.candidates(), requested);
  }

  #settleOn(found: Found): void {
    this.#history.keepsTimeline = false;
    this.#wasReopened = this.#plan.isAuthored && this.#random.onceIn(2);
    this.#restores.settle();
    if (found.kind === 'state') this.#history.found(found.state);
    else this.#settleOnRestored(found);
    if (this.#object.files.showsRestore) this.#history.setTimeOfRestore(this.#clock.elapsedMs);
    else this.#history.checkOrder(this.#object.storage.currentBookmark());
  }

  #settleOnRestored({ request: { undo }, contents, isCertain }: FoundRestored): void {
    const before = this.#history.candidates();
    const { timeMs } = this.#history.last;
    this.#history.restored(contents, this.#clock.elapsedMs);
    this.#totals('restores');
    if (!isCertain || undo === null) return;
    const mayBePruned = this.#disk.mayBeFull;
    this.#history.known.push({
      text: undo,
      contents: before.map((state) => state.contents),
      timeMs,
      isDurable: true,
      mayBePruned,
    });
  }

  // ---- Damage.

  async #damage(): Promise<void> {
    this.#random.reseed(this.#plan.seed);
    this.#disk.heal();
    await this.#object.reset();
    if (!(this.#disk instanceof CrashDisk)) return; // damage does not depend on the medium
    const restored = this.#restores.restoresOfDamagedObject.flatMap(({ known }) => known.contents);
    const made = [...this.#history.states, ...this.#history.candidates()];
    const possible = [...made.map(({ contents }) => contents), ...restored];
    this.totals.damages += await checkDamages(
      this.#disk,
      this.#world,
      possible,
      restored.length > 0,
    );
  }
}

interface Opened {
  readonly object: SimulatedObject;
  readonly found: Found;
}
