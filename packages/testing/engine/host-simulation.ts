// Simulates two hosts in one process, each with its own clock and disks. Objects are called, aborted, evicted, deleted
// and reset while hosts close, fail and lose power.
//
// Checked:
// - every promise that a caller holds settles: within a bounded number of turns if its object is reset or its host
//   ends, otherwise once the time it waits for has passed;
// - acknowledged operations are stored, and nothing else is;
// - no code of an instance runs after its end, and each instance sees the time of its own host.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectStub } from '../../../src/shared/contract/object.ts';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import { MemoryCatalog } from '../../../worker/objects/catalog/catalog.ts';
import { ClassRegistry } from '../../../worker/objects/instance/object-class.ts';
import { objectsOn } from '../../../worker/start/entries/objects-on.ts';
import { CrashMedium } from '../simulate/world/crash-medium.ts';
import { DrivenTime } from '../simulate/world/driven-time.ts';
import { Random } from '../simulate/world/random.ts';
import { SettleChecker, TURNS_MAX, turnOfEventLoop } from '../simulate/world/settle.ts';
import { SimulationFailure, withStep } from './history.ts';
import { kindsOf, LATER_SEEDS } from './plan.ts';
import { type Probe, SimulatedClass, UNDO_MESSAGE } from './simulated-class.ts';
import type { WatchedSqlite } from './watched-sqlite.ts';

const IDLE_MS = 300;
const NAMES = ['a', 'b', 'c'];
const CLASSES = { Simulated: SimulatedClass };
/** This time is longer than every limit, so that transactions and constructors have ended by themselves. */
const BEYOND_ALL_LIMITS_MS = 120_000;
/** The number of turns of the event loop after each step and each timer. */
const TURNS = 3;

type Calls = Objects<typeof CLASSES>['env']['Simulated'] extends {
  getByName(name: string): infer S;
}
  ? S
  : never;

/** The operations on an object, as its callers know them. */
interface Expected {
  readonly acknowledged: Set<string>;
  readonly issued: Set<string>;
  /**
   * The number of events that may have ended its instance: each abort counts when it is called, and again when it
   * returns.
   */
  aborts: number;
}

/** A call that rejected because its instance had ended. */
interface RejectedCall {
  readonly label: string;
  readonly of: Expected;
  /** The value of `aborts` when the call was made. */
  readonly aborts: number;
}

export interface HostStep {
  readonly kind: HostStepKind;
  readonly seed: number;
}

const STEPS = {
  note: 12,
  noteLater: 5,
  noteBehind: 4,
  noteTogether: 3,
  noteByAlarm: 3,
  hold: 2,
  abort: 4,
  noted: 4,
  delete: 1,
  time: 14,
  turns: 4,
  fault: 2,
  close: 2,
  loss: 2,
} as const;

/** Steps that only plans of later seeds have, so that the plans of earlier seeds do not change. */
const LATER_STEPS = { noteNever: 8 } as const;

type HostStepKind = keyof typeof STEPS | keyof typeof LATER_STEPS;

const KINDS = kindsOf(STEPS);
const ALL_KINDS = kindsOf({ ...STEPS, ...LATER_STEPS });

export function hostStepsOf(seed: number): HostStep[] {
  const random = new Random(seed);
  const kinds: readonly HostStepKind[] = seed < LATER_SEEDS ? KINDS : ALL_KINDS;
  return Array.from({ length: 30 + random.below(60) }, () => ({
    kind: random.pick(kinds),
    seed: random.below(1_000_000),
  }));
}

/** One of the two hosts. Its clock and files outlive each of its running instances. */
class SimulatedHost {
  /** The system's time, by which code that never ends is stopped. */
  readonly time: DrivenTime;
  readonly checker = new SettleChecker();
  readonly expected = new Map<string, Expected>();
  readonly catalog = new MemoryCatalog();
  readonly violations: string[] = [];
  /** Rejected calls that only an abort can explain. */
  ended: RejectedCall[] = [];
  /** True while its disks may fail or it is ending, so that any call may reject. */
  isDisturbed = false;
  medium: CrashMedium;
  #objects!: Objects<typeof CLASSES>;
  readonly #sqlite: WatchedSqlite;

  constructor(sqlite: WatchedSqlite, random: Random, nowMs: number) {
    this.#sqlite = sqlite;
    this.time = new DrivenTime(0);
    this.#nowMs = nowMs;
    this.#endMs = nowMs;
    this.medium = new CrashMedium(random, { flush: random.pick(['now', 'late']) });
  }

  async start(): Promise<void> {
    const { sqlite } = this.#sqlite;
    const turns = { nextTurn: (task: () => void) => void turnOfEventLoop().then(task) };
    const { medium, catalog, time } = this;
    const platform = { sqlite, medium, catalog, time, turns, isDedicated: false };
    const env = { probe: this.#probe() };
    const hosted = { classes: new ClassRegistry(CLASSES, {}), env };
    this.#objects = await objectsOn(platform, hosted, { idleMs: IDLE_MS });
    await this.#objects.clock.set(this.#nowMs);
  }

  /** Moves the objects' clock, and then the system's. */
  async advance(durationMs: number): Promise<void> {
    this.#endMs = this.#nowMs + durationMs;
    this.checker.watch('advance', this.#objects.clock.advance(durationMs));
    // A running alarm is waited for by the system's time, so it must pass, too.
    for (let i = 0; i < TURNS_MAX && this.checker.pending.includes('advance'); i++) {
      await turns();
      await this.time.advance(durationMs / TURNS_MAX, turns);
    }
    await this.checker.settled('advance', () =>
      this.time.advance(BEYOND_ALL_LIMITS_MS / TURNS_MAX, turns),
    );
    this.#nowMs = this.#endMs;
  }

  stub(name: string): Calls {
    return this.#objects.env.Simulated.getByName(name) as Calls;
  }

  delete(name: string): Promise<void> {
    return this.#objects.deleteObject(this.stub(name) as unknown as DurableObjectStub);
  }

  close(): Promise<void> {
    const closing = this.#objects.close();
    const closed = () => {
      this.#isClosed.value = true;
    };
    closing.then(closed, closed);
    return closing;
  }

  expectedOf(name: string): Expected {
    const known = this.expected.get(name);
    if (known !== undefined) return known;
    const fresh = { acknowledged: new Set<string>(), issued: new Set<string>(), aborts: 0 };
    this.expected.set(name, fresh);
    return fresh;
  }

  /** The objects' time; during an advance, it moves from the old time to the new one. */
  #nowMs: number;
  #endMs: number;
  #isClosed = { value: false };

  #probe(): Probe {
    const ended = new WeakSet<object>();
    const closed = { value: false };
    this.#isClosed = closed;
    return {
      entered: (what, instance, nowMs) => {
        if (closed.value) this.violations.push(`${what} ran after its host was closed`);
        if (ended.has(instance)) this.violations.push(`${what} ran in an instance that has ended`);
        if (nowMs < this.#nowMs || nowMs > this.#endMs) {
          this.violations.push(`${what} sees the time ${nowMs}, but it is ${this.#nowMs}`);
        }
      },
      ended: (instance) => void ended.add(instance),
    };
  }
}

export class HostSimulation {
  readonly totals = { calls: 0, crashes: 0, closes: 0, faults: 0 };
  readonly #sqlite: WatchedSqlite;
  readonly #steps: readonly HostStep[];
  readonly #random: Random;
  readonly #hosts: readonly SimulatedHost[];

  constructor(sqlite: WatchedSqlite, seed: number, steps: readonly HostStep[]) {
    this.#sqlite = sqlite;
    this.#steps = steps;
    const random = new Random(seed);
    this.#random = random;
    const startMs = Date.UTC(2030, 0, 1);
    this.#hosts = [0, 1].map((i) => new SimulatedHost(sqlite, random, startMs + i * 1e9));
  }

  /** Runs the whole simulation, and returns its counts. @throws SimulationFailure, NeverSettled */
  async run(): Promise<Record<string, number>> {
    for (const host of this.#hosts) await host.start();
    try {
      for (const [index, step] of this.#steps.entries()) await this.#run(step, index);
      await this.#end();
    } catch (error) {
      for (const { medium } of this.#hosts) medium.powerOff();
      this.#sqlite.takeViolations();
      throw error;
    }
    return this.totals;
  }

  async #run(step: HostStep, index: number): Promise<void> {
    this.#random.reseed(step.seed);
    try {
      await this.#perform(step);
      await turns();
      this.#check();
    } catch (error) {
      throw withStep(error, index, step.kind);
    }
  }

  async #perform({ kind, seed }: HostStep): Promise<void> {
    const random = this.#random;
    const host = random.pick(this.#hosts);
    const name = random.pick(NAMES);
    const delayMs = random.pick([0, 10, IDLE_MS, 2 * IDLE_MS, 5000]);
    const operation = `${kind}-${seed}`;
    switch (kind) {
      case 'note':
        return this.#note(host, name, operation, (stub) => stub.note(operation));
      case 'noteLater':
        return this.#note(host, name, operation, (stub) => stub.noteLater(operation, delayMs));
      case 'noteTogether':
        return this.#note(host, name, operation, (stub) => stub.noteTogether(operation, delayMs));
      case 'noteBehind':
        host.expectedOf(name).issued.add(operation);
        return this.#call(host, name, kind, (stub) => stub.noteBehind(operation, delayMs));
      case 'noteByAlarm':
        host.expectedOf(name).issued.add(operation);
        return this.#call(host, name, kind, (stub) => stub.noteByAlarm(operation, delayMs));
      case 'hold':
        return this.#call(host, name, kind, (stub) => stub.hold(delayMs));
      case 'noteNever':
        return this.#callStoringNothing(
          host,
          name,
          operation,
          random.pick(['throws', 'returns'] as const),
        );
      case 'abort':
        return this.#abort(host, name, (stub) => stub.abort());
      case 'noted':
        return this.#read(host, name);
      case 'delete':
        return this.#delete(host, name);
      case 'time':
        return host.advance(random.pick([1, IDLE_MS / 2, IDLE_MS, IDLE_MS + 1, 6000]));
      case 'turns':
        return turns();
      case 'fault':
        this.totals.faults++;
        host.isDisturbed = true;
        for (const disk of host.medium.disks) disk.failAfter(random.below(10), 'IO');
        return;
      case 'close':
        return this.#restart(host, 'close');
      case 'loss':
        return this.#restart(host, 'loss');
    }
  }

  // ---- Calls.

  #call(
    host: SimulatedHost,
    name: string,
    label: string,
    call: (stub: Calls) => unknown,
    answered: (value: unknown) => void = () => {},
  ): void {
    this.totals.calls++;
    const made = (async () => call(host.stub(name)))();
    const of = host.expectedOf(name);
    const { aborts } = of;
    const outcome = made.then(answered, (error: unknown) => {
      if (!isStorageError(error)) host.violations.push(`${label} rejects with ${String(error)}`);
      else if (!host.isDisturbed) host.ended.push({ label: `${label} of ${name}`, of, aborts });
    });
    host.checker.watch(`${label} of ${name}`, outcome);
  }

  /** Makes a call that must store nothing. */
  #callStoringNothing(
    host: SimulatedHost,
    name: string,
    operation: string,
    how: 'throws' | 'returns',
  ): void {
    const delayMs = this.#random.pick([0, 10, IDLE_MS, 5000]);
    const call = (stub: Calls) => stub.noteNever(operation, how, delayMs);
    const undone = (error: unknown) => {
      if (!(error instanceof Error && error.message === UNDO_MESSAGE)) throw error;
    };
    if (how === 'returns') this.#abort(host, name, call);
    else this.#call(host, name, 'noteNever', (stub) => call(stub).catch(undone));
  }

  /** Makes a call that resets its object. */
  #abort(host: SimulatedHost, name: string, call: (stub: Calls) => unknown): void {
    const of = host.expectedOf(name);
    of.aborts++;
    this.#call(host, name, 'abort', async (stub) => {
      try {
        await call(stub);
      } finally {
        of.aborts++;
      }
    });
  }

  #note(
    host: SimulatedHost,
    name: string,
    operation: string,
    call: (stub: Calls) => unknown,
  ): void {
    const { acknowledged, issued } = host.expectedOf(name);
    issued.add(operation);
    this.#call(host, name, operation, call, () => void acknowledged.add(operation));
  }

  #read(host: SimulatedHost, name: string): void {
    const { acknowledged, issued } = host.expectedOf(name);
    const expected = new Set(acknowledged);
    this.#call(
      host,
      name,
      'noted',
      (stub) => stub.noted(),
      (value) => {
        const noted = new Set(value as string[]);
        const missing = [...expected].filter((operation) => !noted.has(operation));
        const foreign = [...noted].filter((operation) => !issued.has(operation));
        if (missing.length > 0) host.violations.push(`${name} has lost ${missing.join(', ')}`);
        if (foreign.length > 0) {
          host.violations.push(`${name} has stored unknown ${foreign.join(', ')}`);
        }
      },
    );
  }

  async #delete(host: SimulatedHost, name: string): Promise<void> {
    // Operations that are still running could be stored before the deletion or after it.
    await this.#settle(host, BEYOND_ALL_LIMITS_MS);
    this.#check();
    const refused = onlyStorageErrors(host, 'delete');
    const deleted = host.delete(name).then(
      () => void host.expected.delete(name),
      (error) => {
        refused(error);
        // Its files may or may not exist, so nothing is expected.
        host.expectedOf(name).acknowledged.clear();
      },
    );
    host.checker.watch('delete', deleted);
    await host.checker.allSettled();
  }

  // ---- Ends of hosts.

  async #restart(host: SimulatedHost, how: 'close' | 'loss'): Promise<void> {
    host.isDisturbed = true;
    if (how === 'loss') {
      host.medium.powerOff();
      this.totals.crashes++;
    } else this.totals.closes++;
    host.checker.watch(how, host.close().catch(onlyStorageErrors(host, how)));
    // After the end of a host, every call settles without any time passing.
    await host.checker.allSettled();
    await host.time.advance(1, turns);
    if (how === 'loss') host.medium = host.medium.afterLoss();
    for (const disk of host.medium.disks) disk.heal();
    await host.start();
    host.isDisturbed = false;
    for (const name of NAMES) this.#read(host, name);
  }

  async #settle(host: SimulatedHost, durationMs: number): Promise<void> {
    for (let passedMs = 0; passedMs < durationMs && host.checker.pending.length > 0; ) {
      const stepMs = durationMs / 20;
      await host.advance(stepMs);
      passedMs += stepMs;
    }
    await host.checker.allSettled();
  }

  /** Lets enough time pass that everything settles, and checks that acknowledged operations are stored. */
  async #end(): Promise<void> {
    for (const host of this.#hosts) {
      for (const disk of host.medium.disks) disk.heal();
      await this.#settle(host, BEYOND_ALL_LIMITS_MS);
      for (const name of NAMES) this.#read(host, name);
      await this.#settle(host, BEYOND_ALL_LIMITS_MS);
    }
    for (const host of this.#hosts) {
      host.checker.watch('close', host.close());
      await host.checker.allSettled();
      await host.time.advance(BEYOND_ALL_LIMITS_MS, turns);
    }
    this.#check();
  }

  #check(): void {
    const found = this.#sqlite.takeViolations();
    for (const host of this.#hosts) {
      found.push(...host.violations.splice(0));
      for (const { label, of, aborts } of host.ended.splice(0)) {
        if (of.aborts === aborts)
          found.push(`${label} rejects, although nothing has ended its instance`);
      }
      for (const disk of host.medium.disks) found.push(...disk.violations.splice(0));
    }
    if (found.length > 0) throw new SimulationFailure(found.join('; '));
  }
}

function onlyStorageErrors(host: SimulatedHost, label: string): (error: unknown) => void {
  return (error) => {
    if (!isStorageError(error)) host.violations.push(`${label} rejects with ${String(error)}`);
  };
}

async function turns(): Promise<void> {
  for (let i = 0; i < TURNS; i++) {
    // Ids are digests, which another thread computes.
    await crypto.subtle.digest('SHA-256', new Uint8Array());
    await turnOfEventLoop();
  }
}
