// One simulated object: works, loses power at a random moment, is opened again and must hold exactly
// what the model says, through restores, full disks and stored bytes that change by themselves.
//
// What is checked after every opening:
//   no commit that was flushed is missing, and the state is that of one commit, whole;
//   a restore that was asked for and flushed has been made, exactly;
//   what reads wrong reads as an error.

import type { Database, Sqlite3Static } from '@sqlite.org/sqlite-wasm';
import { isStorageError } from '../../src/contract/errors.ts';
import { ObjectStore } from '../log/object-store.ts';
import { LOG_PRAGMAS, type LogVfs } from '../vfs/log-vfs.ts';
import { CrashDisk, type DiskFaults } from './crash-disk.ts';
import { difference, EMPTY, type Model } from './model.ts';
import { Random } from './random.ts';
import { nextStep } from './workload.ts';

const DAY_MS = 86_400_000;
const LIVES = 5;
const STEPS_PER_LIFE = 120;

export interface SimulationResult {
  readonly commits: number;
  readonly crashes: number;
  readonly restores: number;
  readonly fullDisks: number;
}

interface Commit {
  readonly model: Model;
  readonly timeMs: number;
}

interface Known {
  readonly bookmark: string;
  readonly sequence: number;
  /** Its commit was lost with the power, whatever has its sequence now. */
  isLost: boolean;
}

/** A restore that the next opening is to make. */
interface Asked {
  readonly sequence: number;
  readonly model: Model;
  /** The bookmark that undoes it. */
  readonly undo: string;
  isFlushed: boolean;
}

/** A fact that contradicts the model. */
export class SimulationFailure extends Error {}

export class Simulation {
  readonly #sqlite3: Sqlite3Static;
  readonly #vfs: LogVfs;
  readonly #random: Random;
  readonly #options;
  #disk: CrashDisk;
  #nowMs = Date.UTC(2030, 0, 1);
  #life = 0;

  #store!: ObjectStore;
  #name = '';
  #db: Database | null = null;

  /** What every sequence of the present history stands for. */
  readonly #commits = new Map<number, Commit>([[0, { model: EMPTY, timeMs: this.#nowMs }]]);
  #known: Known[] = [];
  #flushed = 0;
  /** State a commit under way would leave. */
  #underWay: Model | null = null;
  #asked: Asked | null = null;
  #historyWasGivenUp = false;
  readonly #counts = { commits: 0, crashes: 0, restores: 0, fullDisks: 0 };

  constructor(sqlite3: Sqlite3Static, vfs: LogVfs, seed: number, faults: DiskFaults = {}) {
    this.#sqlite3 = sqlite3;
    this.#vfs = vfs;
    const random = new Random(seed);
    this.#random = random;
    this.#disk = new CrashDisk(random, { flushIsLate: random.onceIn(4), ...faults });
    this.#options = {
      segmentBytes: random.pick([1 << 16, 1 << 18, 8 << 20]),
      spillBytes: random.pick([1 << 14, 1 << 16, 4 << 20]),
      checkpointOverlayBytes: random.pick([1 << 15, 1 << 17, 4 << 20]),
      checkpointLogBytes: random.pick([1 << 15, 1 << 18, 1 << 20]),
    };
  }

  /** Runs the whole life of the object. @throws SimulationFailure */
  async run(): Promise<SimulationResult> {
    for (let life = 0; life < LIVES; life++) {
      this.#life = life;
      const isLast = life === LIVES - 1;
      const crashes = !isLast && !this.#random.onceIn(5);
      this.#disk.crashAfter(crashes ? this.#crashMoment() : Number.POSITIVE_INFINITY);
      await this.#surviving(async () => {
        await this.#open();
        await this.#work();
        await this.#shutDown();
      });
    }
    await this.#damage();
    return this.#counts;
  }

  #crashMoment(): number {
    return this.#random.onceIn(3) ? this.#random.below(20) : this.#random.below(900);
  }

  /** Runs until the power fails; then the disk comes back with what survived. */
  async #surviving(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      if (!this.#disk.isOff || error instanceof SimulationFailure) throw error;
      this.#counts.crashes++;
      this.#closeDatabase();
      this.#disk = this.#disk.afterCrash();
    }
  }

  // ---- Opening and its checks.

  async #open(): Promise<void> {
    const asked = this.#asked;
    this.#store = await ObjectStore.open(this.#disk, this.#environment(), this.#options);
    this.#openDatabase();
    const sequence = this.#store.committedSequence;
    const isRestored = asked !== null && sequence >= 0x1_0000_0000 * this.#timeline();
    if (isRestored) {
      this.#check(asked.model, `after the restore to ${asked.sequence}`);
      this.#commits.set(sequence, { model: asked.model, timeMs: this.#nowMs });
      this.#counts.restores++;
    } else {
      if (asked?.isFlushed === true) this.#fail('a restore that was flushed was not made');
      this.#checkSurvivor(sequence);
      this.#forgetUndo(asked);
    }
    this.#asked = null;
    this.#underWay = null;
    this.#flushed = sequence;
    for (const lost of this.#commits.keys()) if (lost > sequence) this.#commits.delete(lost);
    for (const known of this.#known) if (!this.#commits.has(known.sequence)) known.isLost = true;
  }

  /** The timeline a restore made now would begin. */
  #timeline(): number {
    return Math.floor(Math.max(...this.#commits.keys()) / 0x1_0000_0000) + 1;
  }

  #checkSurvivor(sequence: number): void {
    if (sequence < this.#flushed) {
      this.#fail(`commit ${this.#flushed} was flushed, but the log ends at ${sequence}`);
    }
    const commit = this.#commits.get(sequence);
    if (commit !== undefined) {
      this.#check(commit.model, `at commit ${sequence}`);
    } else if (this.#underWay !== null && this.#isNext(sequence)) {
      this.#check(this.#underWay, `at commit ${sequence}, which was under way`);
      this.#commits.set(sequence, { model: this.#underWay, timeMs: this.#nowMs });
    } else {
      this.#fail(`commit ${sequence} was never made`);
    }
  }

  /** True for a commit of the step under way: a step makes two at most. */
  #isNext(sequence: number): boolean {
    return this.#commits.has(sequence - 1) || this.#commits.has(sequence - 2);
  }

  #openDatabase(): void {
    this.#name = this.#vfs.attach(this.#store.file);
    this.#db = new this.#sqlite3.oo1.DB({ filename: this.#name, vfs: this.#vfs.name, flags: 'c' });
    for (const pragma of LOG_PRAGMAS) this.#db.exec(pragma);
    // A small cache spills: pages reach the file before their transaction ends.
    this.#db.exec(`PRAGMA cache_size=${this.#random.pick([10, 10, 50, -2000])}`);
  }

  #closeDatabase(): void {
    this.#db?.close();
    this.#db = null;
    this.#vfs.detach(this.#name);
  }

  // ---- Work.

  async #work(): Promise<void> {
    const fullAt = this.#random.onceIn(3) ? this.#random.below(STEPS_PER_LIFE) : -1;
    for (let step = 0; step < STEPS_PER_LIFE; step++) {
      this.#nowMs += this.#random.onceIn(150) ? 12 * DAY_MS : this.#random.below(90_000);
      if (step === fullAt) {
        this.#disk.capacityBytes = this.#disk.usedBytes() + this.#random.below(60_000);
        this.#historyWasGivenUp = true;
        this.#counts.fullDisks++;
      }
      if (step === fullAt + 25) this.#disk.capacityBytes = Number.POSITIVE_INFINITY;
      this.#commitOne();
      if (this.#random.onceIn(4)) await this.#flush();
      if (this.#random.onceIn(15)) this.#know();
      if (this.#random.onceIn(40)) await this.#lookUpTime();
      if (this.#random.onceIn(10) && this.#store.needsMaintenance) await this.#store.maintain();
    }
    this.#disk.capacityBytes = Number.POSITIVE_INFINITY;
    await this.#flush();
    if (this.#random.onceIn(2)) await this.#askForRestore();
  }

  #commitOne(): void {
    const db = this.#db!;
    const model = this.#commits.get(this.#store.committedSequence)!.model;
    const step = nextStep(model, this.#random);
    this.#underWay = step.after;
    const before = this.#store.committedSequence;
    try {
      step.run(db);
    } catch (error) {
      const cause = this.#vfs.takeError(this.#name);
      if (cause?.code !== 'DISK_FULL' || this.#disk.isOff) throw cause ?? error;
      this.#rollBack(db);
      this.#afterFullDisk(before, model, step.after);
      return;
    }
    this.#noteCommits(before, step.after);
  }

  #rollBack(db: Database): void {
    if (this.#sqlite3.capi.sqlite3_get_autocommit(db.pointer!) !== 0) return;
    try {
      db.exec('ROLLBACK');
    } catch (error) {
      if (this.#vfs.takeError(this.#name)?.code !== 'DISK_FULL') throw error;
    }
  }

  /** The step was refused: its transaction is gone whole; of two, the first may stand. */
  #afterFullDisk(before: number, model: Model, after: Model): void {
    const reached = this.#store.committedSequence;
    const isUndone = difference(this.#db!, model) === null;
    if (!isUndone) this.#check(after, 'after a full disk');
    for (let sequence = before + 1; sequence <= reached; sequence++) {
      this.#commits.set(sequence, { model: isUndone ? model : after, timeMs: this.#nowMs });
    }
  }

  #noteCommits(before: number, model: Model): void {
    for (let sequence = before + 1; sequence <= this.#store.committedSequence; sequence++) {
      this.#commits.set(sequence, { model, timeMs: this.#nowMs });
      this.#counts.commits++;
    }
  }

  async #flush(worksMeanwhile = true): Promise<void> {
    const covered = this.#store.committedSequence;
    const asked = this.#asked;
    const flushed = this.#store.flush();
    // A late flush covers what was committed before it, and work goes on meanwhile.
    if (flushed instanceof Promise) {
      flushed.catch(() => {});
      if (worksMeanwhile && this.#random.onceIn(2)) this.#commitOne();
    }
    await flushed;
    this.#flushed = covered;
    if (asked !== null) asked.isFlushed = true;
    if (this.#store.durableSequence < covered) this.#fail('flush() returned, nothing is durable');
  }

  // ---- History.

  #know(): void {
    const bookmark = this.#store.currentBookmark();
    const last = this.#known.at(-1);
    const sequence = this.#store.committedSequence;
    if (last !== undefined && !last.isLost) {
      const isOrdered = sequence === last.sequence || bookmark > last.bookmark;
      if (!isOrdered) this.#fail(`bookmark ${bookmark} sorts before ${last.bookmark}`);
    }
    this.#known.push({ bookmark, sequence, isLost: false });
  }

  async #lookUpTime(): Promise<void> {
    const timeMs = this.#nowMs - this.#random.below(this.#random.pick([1e5, 1e7, 29 * DAY_MS]));
    const expected = Math.max(
      0,
      ...[...this.#commits].filter(([, c]) => c.timeMs <= timeMs).map(([sequence]) => sequence),
    );
    let found: string;
    try {
      found = await this.#store.bookmarkForTime(timeMs);
    } catch (error) {
      const isPruned = isStorageError(error) && error.code === 'BOOKMARK_UNAVAILABLE';
      if (isPruned && !this.#mustReach(expected)) return;
      throw error;
    }
    const sequence = Number.parseInt(found.slice(0, 17).replace('-', ''), 16);
    if (sequence !== expected) this.#fail(`time ${timeMs}: commit ${sequence}, not ${expected}`);
  }

  /** True when the window and the disk leave no reason to have given this moment up. */
  #mustReach(sequence: number): boolean {
    if (this.#historyWasGivenUp) return false;
    const later = [...this.#commits].filter(([other]) => other > sequence).map(([, c]) => c.timeMs);
    return Math.min(this.#nowMs, ...later) >= this.#nowMs - 30 * DAY_MS;
  }

  async #askForRestore(): Promise<void> {
    if (this.#known.length === 0) return;
    const known = this.#random.pick(this.#known);
    let undo: string;
    try {
      undo = this.#store.scheduleRestore(known.bookmark);
    } catch (error) {
      this.#excuse(error, known);
      return;
    }
    if (undo < this.#store.currentBookmark()) this.#fail('the undo bookmark sorts too early');
    const { model } = this.#commits.get(known.sequence) ?? { model: EMPTY };
    this.#asked = { sequence: known.sequence, model, undo, isFlushed: false };
    await this.#flush(false);
    const sequence = this.#store.committedSequence;
    this.#known.push({ bookmark: undo, sequence, isLost: false });
    await this.#shutDown();
    try {
      await this.#open();
    } catch (error) {
      this.#excuse(error, known);
      this.#forgetUndo(this.#asked);
      this.#asked = null;
      await this.#open();
    }
  }

  /** A restore that was not made leaves nothing to undo. */
  #forgetUndo(asked: Asked | null): void {
    this.#known = this.#known.filter(({ bookmark }) => bookmark !== asked?.undo);
  }

  /** Lets a refusal pass when there is a reason for it. */
  #excuse(error: unknown, known: Known): void {
    if (this.#disk.isOff || !isStorageError(error)) throw error;
    const isLost = known.isLost && error.code === 'BOOKMARK_INVALID';
    const isPruned = error.code === 'BOOKMARK_UNAVAILABLE' && !this.#mustReach(known.sequence);
    if (!isLost && !isPruned) throw error;
  }

  // ---- The end.

  async #shutDown(): Promise<void> {
    this.#closeDatabase();
    await this.#store.close();
  }

  /** Changes one stored byte: what is read then is right, or an error. */
  async #damage(): Promise<void> {
    const names = (await this.#disk.names()).filter((name) => this.#disk.sizeOf(name) > 0);
    const name = this.#random.pick(names);
    this.#disk.damage(name, this.#random.below(this.#disk.sizeOf(name)));
    try {
      this.#store = await ObjectStore.open(this.#disk, this.#environment(), this.#options);
      this.#openDatabase();
      // The record of the last flush cannot be told from a torn one.
      const sequence = this.#store.committedSequence;
      const commit = this.#commits.get(sequence);
      if (commit === undefined) this.#fail(`damage in ${name}: commit ${sequence} was never made`);
      this.#check(commit!.model, `after damage in ${name}`);
    } catch (error) {
      const cause = isStorageError(error) ? error : this.#vfs.takeError(this.#name);
      if (cause?.code !== 'CORRUPT') throw error;
    } finally {
      this.#closeDatabase();
      await this.#store.close();
    }
  }

  #environment() {
    return { now: () => this.#nowMs, randomUint32: () => this.#random.uint32() };
  }

  #check(model: Model, when: string): void {
    const wrong = difference(this.#db!, model);
    if (wrong !== null) this.#fail(`${when}: ${wrong}`);
  }

  #fail(fact: string): void {
    throw new SimulationFailure(`life ${this.#life}: ${fact}`);
  }
}
