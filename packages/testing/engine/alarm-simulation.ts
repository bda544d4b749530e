// Simulates the alarms of one host's objects through everything that outlives an instance: the scheduler, the catalog
// and the files. The wall clock is set back and forth; objects are evicted, restored, imported and deleted; hosts close
// and lose power.
//
// Checked:
// - only an alarm that is stored rings, and never before the wall clock shows its time;
// - it rings within a minute after that, in whichever host, and a failed run rings again after its delay;
// - timers and retries take their time, whatever is done to the wall clock.

import { isStorageError } from '../../../src/shared/contract/errors.ts';
import type { DurableObjectStub } from '../../../src/shared/contract/object.ts';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import { ClassRegistry } from '../../../worker/objects/instance/object-class.ts';
import { objectsOn } from '../../../worker/start/entries/objects-on.ts';
import { CrashCatalog } from '../simulate/world/crash-catalog.ts';
import { CrashMedium } from '../simulate/world/crash-medium.ts';
import { DrivenTime } from '../simulate/world/driven-time.ts';
import { Random } from '../simulate/world/random.ts';
import { SettleChecker, turnOfEventLoop } from '../simulate/world/settle.ts';
import { AlarmedClass, type AlarmProbe, type MarkedState } from './alarmed-class.ts';
import { SimulationFailure, withStep } from './history.ts';
import { kindsOf } from './plan.ts';
import type { WatchedSqlite } from './watched-sqlite.ts';

const CLASSES = { Alarmed: AlarmedClass };
const NAMES = ['a', 'b', 'c', 'd'];
const IDLE_MS = 300;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The longest time until a host notices that the wall clock was set. */
const CLOCK_NOTICED_MS = 60_000;
const START_MS = Date.UTC(2030, 0, 1);

const STEPS = {
  set: 16,
  unset: 3,
  read: 4,
  mark: 6,
  restore: 5,
  restoreLater: 4,
  exported: 2,
  imported: 3,
  fail: 4,
  wait: 6,
  abort: 3,
  evict: 4,
  delete: 1,
  time: 24,
  clockStep: 6,
  close: 3,
  loss: 6,
} as const;

type AlarmStepKind = keyof typeof STEPS;

export interface AlarmStep {
  readonly kind: AlarmStepKind;
  readonly seed: number;
}

const KINDS = kindsOf(STEPS);

export function alarmStepsOf(seed: number): AlarmStep[] {
  const random = new Random(seed);
  return Array.from({ length: 30 + random.below(70) }, () => ({
    kind: random.pick(KINDS),
    seed: random.below(1_000_000),
  }));
}

/** The model of one object: what is expected of its alarm. */
class Expected {
  /** The alarms that may be stored; null means none. */
  possible = new Set<number | null>([null]);
  /** The states to which the object can be restored. */
  marked: MarkedState[] = [];
  /** The number of coming runs of its alarm that must fail. */
  failures = 0;
  /** The last run of its alarm, if it failed and this host must repeat it. */
  failed: { readonly atMs: number; readonly retryCount: number } | null = null;
  /** The elapsed time since which its alarm should have rung; null if it should not. */
  dueSinceMs: number | null = null;
  /** The alarm that a requested restore gives to the next instance; undefined if no restore was requested. */
  restored: number | null | undefined;

  /** Records that one of these alarms is stored now, and forgets what was known of earlier runs. */
  expectOnly(...alarms: readonly (number | null)[]): void {
    this.possible = new Set(alarms);
    this.failed = null;
    this.dueSinceMs = null;
    this.restored = undefined;
  }

  /** The stored alarm if there is only one possibility; otherwise undefined. */
  get certainAlarm(): number | null | undefined {
    return this.possible.size === 1 ? [...this.possible][0] : undefined;
  }
}

type Stub = Objects<typeof CLASSES>['env']['Alarmed'] extends { getByName(name: string): infer S }
  ? S
  : never;

export class AlarmSimulation {
  readonly totals = { rings: 0, retries: 0, crashes: 0, closes: 0, restores: 0 };
  readonly #sqlite: WatchedSqlite;
  readonly #steps: readonly AlarmStep[];
  readonly #random: Random;
  readonly #time = new DrivenTime(START_MS);
  readonly #checker = new SettleChecker();
  readonly #violations: string[] = [];
  #expected = new Map<string, Expected>();
  #medium: CrashMedium;
  #catalog: CrashCatalog;
  #objects!: Objects<typeof CLASSES>;
  #exported: { readonly bytes: Uint8Array; readonly alarm: number | null } | null = null;
  /** The number of handlers that are running. */
  #handlers = 0;
  /** The timers that objects wait for: when each is due, and whose it is. */
  #waits: { readonly name: string; readonly dueMs: number }[] = [];
  /** True while power is off, or about to go off. */
  #isEnding = false;

  constructor(sqlite: WatchedSqlite, seed: number, steps: readonly AlarmStep[]) {
    this.#sqlite = sqlite;
    this.#steps = steps;
    this.#random = new Random(seed);
    this.#medium = new CrashMedium(this.#random, { flush: this.#random.pick(['now', 'late']) });
    this.#catalog = new CrashCatalog(this.#random);
    for (const name of NAMES) this.#expected.set(name, new Expected());
  }

  /** Runs the whole simulation, and returns its counts. @throws SimulationFailure, NeverSettled */
  async run(): Promise<Record<string, number>> {
    await this.#start();
    try {
      for (const [index, { kind, seed }] of this.#steps.entries()) {
        this.#random.reseed(seed);
        try {
          await this.#perform(kind);
          await this.#waitUntilQuiet();
          this.#check();
        } catch (error) {
          throw withStep(error, index, kind);
        }
      }
      await this.#expectAllToRing();
    } finally {
      this.#isEnding = true;
      this.#medium.powerOff();
      await this.#objects.close().catch(() => {});
      this.#sqlite.takeViolations();
    }
    return this.totals;
  }

  async #perform(kind: AlarmStepKind): Promise<void> {
    const random = this.#random;
    const name = random.pick(NAMES);
    const expected = this.#expected.get(name)!;
    switch (kind) {
      case 'set': {
        const timeMs =
          this.#time.now() + random.pick([-1000, 0, 10, 500, 5000, 100_000, HOUR_MS, DAY_MS]);
        expected.expectOnly((await this.#call(name, (stub) => stub.set(timeMs))) as number);
        return;
      }
      case 'unset':
        await this.#call(name, (stub) => stub.unset());
        return expected.expectOnly(null);
      case 'read': {
        const alarm = (await this.#call(name, (stub) => stub.read())) as number | null;
        if (!expected.possible.has(alarm)) {
          this.#violations.push(`${name} has the alarm ${alarm}, not ${textOf(expected)}`);
        } else if (expected.certainAlarm === undefined) expected.expectOnly(alarm);
        return;
      }
      case 'mark': {
        const marked = (await this.#call(name, (stub) =>
          stub.mark(`${random.uint32()}`),
        )) as MarkedState;
        expected.marked.push(marked);
        return;
      }
      case 'restore': {
        const to = random.pick([...expected.marked, undefined]);
        if (to === undefined) return;
        const handle = await this.#settled('storage', this.#objects.storage(this.#plainStub(name)));
        await this.#settled('restore', handle.restore(to.bookmark));
        await this.#settled('close', Promise.resolve(handle.close()));
        this.totals.restores++;
        return expected.expectOnly(to.alarm);
      }
      case 'restoreLater': {
        const to = random.pick([...expected.marked, undefined]);
        if (to === undefined) return;
        await this.#call(name, (stub) => stub.restoreLater(to.bookmark));
        this.totals.restores++;
        if (random.onceIn(2)) await this.#abort(name);
        else {
          expected.restored = to.alarm;
          expected.possible.add(to.alarm);
          await this.#evict(name);
          await this.#call(name, (stub) => stub.read());
        }
        return expected.expectOnly(to.alarm, ...(this.#rungObjects.has(name) ? [null] : []));
      }
      case 'exported': {
        const { certainAlarm } = expected;
        if (certainAlarm === undefined) return;
        const handle = await this.#settled('storage', this.#objects.storage(this.#plainStub(name)));
        const bytes = await this.#settled('export', handle.exportDatabase());
        this.#exported = { bytes, alarm: certainAlarm };
        return this.#settled('close', Promise.resolve(handle.close()));
      }
      case 'imported': {
        if (this.#exported === null) return;
        const handle = await this.#settled('storage', this.#objects.storage(this.#plainStub(name)));
        await this.#settled('import', handle.importDatabase(this.#exported.bytes.slice()));
        await this.#settled('close', Promise.resolve(handle.close()));
        return expected.expectOnly(this.#exported.alarm);
      }
      case 'fail':
        expected.failures = 1 + random.below(3);
        return;
      case 'wait': {
        const delayMs = random.pick([1, 2, 50, 5000, 100_000]);
        const dueMs = this.#time.elapsed() + delayMs;
        const wait = { name, dueMs };
        this.#waits.push(wait);
        const ended = (this.#stub(name).wait(delayMs) as unknown as Promise<void>).catch(() => {});
        void ended.then(() => {
          this.#waits = this.#waits.filter((other) => other !== wait);
        });
        return;
      }
      case 'abort':
        return this.#abort(name);
      case 'evict':
        return this.#evict(name);
      case 'delete':
        await this.#settled('delete', this.#objects.deleteObject(this.#plainStub(name)));
        this.#forgetWaits(name);
        expected.marked = [];
        expected.failures = 0;
        return expected.expectOnly(null);
      case 'time':
        return this.#advance(
          random.pick([1, IDLE_MS, 3000, 10_000, CLOCK_NOTICED_MS + 1000, 150_000]),
        );
      case 'clockStep': {
        const stepMs = 1 + random.below(random.pick([10_000, HOUR_MS, DAY_MS, 40 * DAY_MS]));
        this.#time.step(random.pick([-1, 1]) * stepMs);
        for (const each of this.#expected.values()) each.dueSinceMs = null;
        return;
      }
      case 'close':
        this.totals.closes++;
        this.#isEnding = true;
        await this.#settled('close', this.#objects.close());
        return this.#start();
      case 'loss':
        return this.#losePower(name);
    }
  }

  // ---- Time.

  /** The objects whose alarm has rung in this step. */
  readonly #rungObjects = new Set<string>();

  async #advance(durationMs: number): Promise<void> {
    this.#rungObjects.clear();
    await this.#time.advance(durationMs, () => this.#waitUntilQuiet());
  }

  /** Evicts the object, unless it waits for a timer. */
  async #evict(name: string): Promise<void> {
    await this.#advance(2 * IDLE_MS);
    if (this.#waits.some((wait) => wait.name === name)) await this.#abort(name);
  }

  /** Turns the event loop until no handler runs and all results of handlers are durable. */
  async #waitUntilQuiet(): Promise<void> {
    do await turns();
    while (this.#handlers > 0 && !this.#isEnding);
    await turns(); // a run that has failed is scheduled again
  }

  // ---- Hosts.

  async #start(): Promise<void> {
    const { sqlite } = this.#sqlite;
    const nextTurn = (task: () => void) => void turnOfEventLoop().then(task);
    const platform = {
      sqlite,
      medium: this.#medium,
      catalog: this.#catalog,
      time: this.#time,
      turns: { nextTurn },
      isDedicated: false,
    };
    this.#isEnding = false;
    this.#handlers = 0;
    this.#waits = [];
    for (const expected of this.#expected.values()) {
      expected.failed = null;
      expected.dueSinceMs = null;
    }
    const env = { probe: this.#probe() };
    const hosted = { classes: new ClassRegistry(CLASSES, {}), env };
    this.#objects = await objectsOn(platform, hosted, { idleMs: IDLE_MS });
  }

  /** Lets power fail during a change, or while alarms ring. */
  async #losePower(name: string): Promise<void> {
    const random = this.#random;
    const expected = this.#expected.get(name)!;
    this.totals.crashes++;
    let turnsLeft = random.below(12);
    const during = random.pick(['set', 'unset', 'time'] as const);
    const off = () => {
      if (turnsLeft-- > 0 || this.#isEnding) return;
      this.#isEnding = true;
      this.#medium.powerOff();
    };
    if (during === 'time') {
      // Power may have failed before a handler's result was stored, so its alarm may still be stored.
      for (const each of this.#expected.values()) {
        each.dueSinceMs = null;
        each.failed = null;
      }
      this.#mayLoseRings = true;
      await this.#time.advance(random.pick([10, 5000, CLOCK_NOTICED_MS + 1000]), async () => {
        for (let i = 0; i < 6; i++) {
          off();
          await turnOfEventLoop();
        }
      });
      this.#mayLoseRings = false;
    } else {
      const timeMs = this.#time.now() + random.pick([0, 500, 5000, HOUR_MS]);
      const stub = this.#stub(name);
      const call = during === 'set' ? stub.set(timeMs) : stub.unset();
      (call as unknown as Promise<unknown>).catch(() => {});
      expected.possible.add(during === 'set' ? timeMs : null);
      while (!this.#isEnding) {
        off();
        await turnOfEventLoop();
      }
    }
    this.#isEnding = true;
    this.#medium.powerOff();
    const catalog = random.onceIn(6) ? new CrashCatalog(random) : this.#catalog.afterLoss();
    const medium = this.#medium.afterLoss();
    await this.#settled(
      'loss',
      this.#objects.close().catch(() => {}),
    );
    this.#medium = medium;
    this.#catalog = catalog;
    return this.#start();
  }

  // ---- Objects.

  #stub(name: string): Stub {
    return this.#objects.env.Alarmed.getByName(name) as Stub;
  }

  #plainStub(name: string): DurableObjectStub {
    return this.#stub(name) as unknown as DurableObjectStub;
  }

  #call(name: string, call: (stub: Stub) => unknown): Promise<unknown> {
    return this.#settled(`call of ${name}`, (async () => call(this.#stub(name)))());
  }

  async #abort(name: string): Promise<void> {
    await this.#call(name, (stub) => stub.abort()).catch((error: unknown) => {
      if (!isStorageError(error) && !/aborts/.test(String(error))) throw error;
    });
    this.#forgetWaits(name);
  }

  #forgetWaits(name: string): void {
    this.#waits = this.#waits.filter((wait) => wait.name !== name);
  }

  async #settled<T>(label: string, promise: Promise<T>): Promise<T> {
    const watched = this.#checker.watch(label, promise);
    watched.catch(() => {});
    await this.#checker.settled(label, turns);
    return watched;
  }

  #idOf(name: string): string {
    return this.#objects.env.Alarmed.idFromName(name).toString();
  }

  // ---- The model.

  /** True while power may fail as time advances, so that the result of a handler may be lost. */
  #mayLoseRings = false;

  #probe(): AlarmProbe {
    return {
      elapsed: () => this.#time.elapsed(),
      alarmRings: (id, ...run) =>
        this.#rings(NAMES.find((name) => this.#idOf(name) === id)!, ...run),
      handlerEnded: () => {
        this.#handlers--;
      },
      timerFires: (dueMs) => {
        if (this.#isEnding) return;
        const lateMs = this.#time.elapsed() - dueMs;
        if (lateMs !== 0) this.#violations.push(`a timer fires ${lateMs} ms late`);
      },
    };
  }

  #rings(name: string, scheduledTime: number, retryCount: number): void {
    this.#handlers++;
    const expected = this.#expected.get(name)!;
    const { possible, failed } = expected;
    const nowMs = this.#time.now();
    const elapsedMs = this.#time.elapsed();
    const wrong = (what: string) => {
      this.#violations.push(`the alarm ${scheduledTime} of ${name} ${what}`);
    };
    this.totals.rings++;
    this.#rungObjects.add(name);
    if (!possible.has(scheduledTime)) wrong(`rings, but ${textOf(expected)} is stored`);
    if (retryCount === 0 && nowMs < scheduledTime) wrong(`rings early, at ${nowMs}`);
    if (failed !== null && !this.#mayLoseRings) {
      const delayMs = elapsedMs - failed.atMs;
      const leastMs = 2000 * 2 ** failed.retryCount;
      if (retryCount !== failed.retryCount + 1) wrong(`is retry ${retryCount}`);
      if (delayMs < leastMs || delayMs > leastMs * 1.25 + 1)
        wrong(`is repeated after ${delayMs} ms`);
      this.totals.retries++;
    }
    expected.dueSinceMs = null;
    if (expected.failures > 0) {
      expected.failures--;
      expected.failed = { atMs: elapsedMs, retryCount };
      throw new Error('The simulation fails a run.');
    }
    expected.failed = null;
    if (this.#mayLoseRings) possible.add(null);
    else expected.possible = new Set([null, expected.restored ?? null]);
  }

  /** Checks that due alarms have rung, that failed runs were repeated, and that timers have fired. */
  #check(): void {
    const elapsedMs = this.#time.elapsed();
    for (const [name, expected] of this.#expected) {
      const { certainAlarm, failed } = expected;
      if (failed !== null) {
        const lastMs = failed.atMs + 2500 * 2 ** failed.retryCount + 1;
        if (elapsedMs > lastMs) this.#violations.push(`the alarm of ${name} is not repeated`);
      } else if (typeof certainAlarm === 'number' && certainAlarm <= this.#time.now()) {
        expected.dueSinceMs ??= elapsedMs;
        if (elapsedMs > expected.dueSinceMs + CLOCK_NOTICED_MS) {
          this.#violations.push(`the alarm ${certainAlarm} of ${name} does not ring`);
        }
      }
    }
    for (const { name, dueMs } of this.#waits) {
      if (dueMs < elapsedMs) this.#violations.push(`a timer of ${name} does not fire`);
    }
    const found = [...this.#violations.splice(0), ...this.#sqlite.takeViolations()];
    for (const disk of this.#medium.disks) found.push(...disk.violations.splice(0));
    if (found.length > 0) throw new SimulationFailure(found.join('; '));
  }

  /** Advances the wall clock beyond every alarm, so that all of them must ring. */
  async #expectAllToRing(): Promise<void> {
    for (const expected of this.#expected.values()) expected.failures = 0;
    this.#time.step(400 * DAY_MS);
    for (let i = 0; i < 4; i++) {
      await this.#advance(CLOCK_NOTICED_MS + 1000);
      await this.#waitUntilQuiet();
      this.#check();
    }
    for (const [name, expected] of this.#expected) {
      const alarm = await this.#call(name, (stub) => stub.read());
      if (alarm !== null || typeof expected.certainAlarm === 'number') {
        throw new SimulationFailure(`at the end, ${name} has the alarm ${alarm}`);
      }
    }
  }
}

function textOf({ possible }: Expected): string {
  return [...possible].map(String).join(' or ');
}

async function turns(): Promise<void> {
  for (let i = 0; i < 6; i++) {
    // Ids are digests, which another thread computes.
    await crypto.subtle.digest('SHA-256', new Uint8Array());
    await turnOfEventLoop();
  }
}
