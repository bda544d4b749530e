// Performs one run: the steps of a seed, on one host after the other, and the invariant after each crash and at the
// end.
//
// The run is at rest when no call is in flight and all due alarms have had time to run without a fault.

import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import type { Sqlite } from '@ctx-storage/worker/engine';
import type { ClassTable } from '@ctx-storage/worker/objects';
import { Activity } from './activity.ts';
import { ClientCalls } from './client-calls.ts';
import { type CallEntry, Clients, weightedCalls } from './clients.ts';
import { FaultsOfRun } from './faults.ts';
import { type Answers, outsideOf } from './outside.ts';
import type { FaultName, Gap, Step } from './plan.ts';
import { type Attempt, scope } from './scope.ts';
import { type ScriptLine, textOf } from './script.ts';
import { type Files, type HostOfRun, newFiles, type StartHost } from './simulated-host.ts';
import type { AnyTools, Check, InvariantTools } from './tools.ts';
import { Random } from './world/random.ts';
import { NeverEnds, World } from './world.ts';

/** The parts of a run that its seed does not decide. */
export interface RunOptions {
  readonly sqlite: Sqlite;
  /** The versions of the classes; the run begins with the first. */
  readonly versions: readonly ClassTable[];
  readonly env: object;
  readonly setup: ((tools: AnyTools) => unknown) | undefined;
  readonly calls: (tools: AnyTools) => readonly CallEntry[];
  readonly invariants: readonly Check[];
  readonly fetch: Answers | undefined;
  readonly retries: number;
  readonly concurrency: number;
  readonly restMs: number;
  readonly showsConsole: boolean;
  readonly startHost: StartHost;
  /** The longest time that something outside of the run may take, in milliseconds. */
  readonly outsideMs: number;
}

export interface RunOutcome {
  readonly digest: string;
  readonly script: readonly ScriptLine[];
  /** The failure; undefined if the run has passed. */
  readonly failure: RunFailure | undefined;
  readonly world: World;
  readonly activity: Activity;
  readonly calls: ClientCalls;
  readonly faults: FaultsOfRun;
  readonly retried: number;
  /** The databases at the failure as SQLite files, by object. */
  readonly databases: ReadonlyMap<string, Uint8Array>;
  /** The files of each object at the failure, by its key: its database with its history. */
  readonly disks: ReadonlyMap<string, ReadonlyMap<string, Uint8Array>>;
}

export interface RunFailure {
  readonly error: unknown;
  /** The moment at which the failure was noticed, such as `at the end`. */
  readonly when: string;
}

/** An error of the test's own code: of an invariant, of a call, or of the setup. */
class TestCodeError extends Error {
  readonly found: RunFailure;

  constructor(found: RunFailure) {
    super('The run has failed.');
    this.found = found;
  }
}

export class SimulatedRun {
  readonly #options: RunOptions;
  readonly #steps: readonly Step[];
  readonly #world: World;
  readonly #activity: Activity;
  readonly #calls: ClientCalls;
  readonly #faults: FaultsOfRun;
  readonly #script: ScriptLine[] = [];
  readonly #clients: Clients;
  readonly #idleMs: number;
  #version = 0;
  #host!: HostOfRun;
  #found: RunFailure | undefined;

  constructor(options: RunOptions, seed: number, steps: readonly Step[]) {
    this.#options = options;
    this.#steps = steps;
    const random = new Random(seed);
    this.#world = new World(random);
    this.#world.showsConsole = options.showsConsole;
    this.#world.outsideMs = options.outsideMs;
    this.#activity = new Activity(this.#world);
    this.#calls = new ClientCalls(this.#world, () => this.#host);
    this.#faults = new FaultsOfRun(this.#world, this.#activity, this.#calls);
    this.#idleMs = random.pick([20, 10_000]);
    this.#clients = new Clients(this.#world, this.#calls, options.retries, (error) => {
      this.#found ??= { error, when: 'in a call' };
    });
    if (options.fetch !== undefined) {
      this.#world.fetch = outsideOf(this.#world, this.#faults, options.fetch, this.#tools());
    }
  }

  run(): Promise<RunOutcome> {
    const world = this.#world;
    return scope.run({ world, random: world.random }, async () => {
      let databases: ReadonlyMap<string, Uint8Array> = new Map();
      try {
        await this.#start(newFiles(world));
        await this.#perform();
      } catch (error) {
        this.#found ??= error instanceof TestCodeError ? error.found : { error, when: 'in a step' };
        world.note(`fails ${this.#found.when}`);
      }
      const digest = world.digest();
      try {
        if (this.#found !== undefined) databases = await this.#databases();
        await world.finish('close', this.#host.close());
      } catch (error) {
        this.#found ??= { error, when: 'when the host was closed' };
      }
      return {
        digest,
        script: this.#script,
        failure: this.#found,
        world,
        activity: this.#activity,
        calls: this.#calls,
        faults: this.#faults,
        retried: this.#clients.retried,
        databases,
        disks: this.#found === undefined ? new Map() : this.#host.files.medium.contents(),
      };
    });
  }

  async #perform(): Promise<void> {
    const { setup, calls } = this.#options;
    const tools = this.#tools();
    if (setup !== undefined) {
      const attempt = { step: -1, attempt: 0, keys: [] };
      await this.#runTestCode('in the setup', () => setup(tools), attempt);
    }
    await this.#check('before the first step');
    const entries = weightedCalls(calls(tools));
    for (const [index, step] of this.#steps.entries()) {
      await this.#waitGap(step.gap);
      this.#world.random.reseed(step.seed);
      const line: ScriptLine = { ms: this.#world.ms, text: step.kind, notes: [] };
      this.#script.push(line);
      this.#world.note(`step ${index}: ${step.kind}`);
      if (step.kind === 'call') await this.#startCall(index, step, line, entries);
      else await this.#fault(step.kind, line);
      this.#throwFound();
    }
    await this.#rest('at the end');
  }

  // ---- Time.

  async #waitGap(gap: Gap): Promise<void> {
    const isOver = () => this.#isOver;
    if (gap.kind === 'turns') await this.#world.takeTurns(gap.count, isOver);
    else if (gap.kind === 'time') await this.#world.pass(gap.durationMs, isOver);
    else await this.#until(() => isOver() || this.#clients.pendingCount === 0);
    await this.#afterPowerLoss();
    this.#throwFound();
  }

  get #isOver(): boolean {
    return this.#host.files.medium.isOff || this.#found !== undefined;
  }

  #until(isMet: () => boolean): Promise<void> {
    return this.#world.until(isMet, () => this.#clients.pending);
  }

  async #afterPowerLoss(): Promise<void> {
    if (!this.#host.files.medium.isOff || this.#host.isLost) return;
    this.#faults.happened('powerLoss');
    await this.#crash(this.#faults.powerLossLine, 'after a power loss');
  }

  /** Continues without faults until nothing is in flight, and checks the invariant. */
  async #rest(when: string): Promise<void> {
    await this.#afterPowerLoss();
    this.#faults.heal(this.#host);
    await this.#until(() => this.#found !== undefined || this.#clients.pendingCount === 0);
    this.#faults.correctClock();
    await this.#world.pass(this.#options.restMs, () => this.#found !== undefined);
    this.#faults.cancelWaiting(this.#host);
    this.#throwFound();
    await this.#check(when);
  }

  async #check(when: string): Promise<void> {
    const tools = this.#invariantTools();
    for (const check of this.#options.invariants) {
      await this.#runTestCode(when, () => check(tools));
    }
  }

  /** Runs code of the test to its end. @throws Found, with its error */
  async #runTestCode(when: string, code: () => unknown, attempt?: Attempt): Promise<void> {
    const store = { ...scope.getStore()!, ...(attempt && { attempt }) };
    try {
      await this.#world.finish(
        `Code of the test (${when})`,
        scope.run(store, async () => code()),
      );
    } catch (error) {
      throw new TestCodeError({ error, when });
    }
  }

  #throwFound(): void {
    const [error] = this.#world.unhandled;
    if (error !== undefined) this.#found ??= { error, when: 'with an error that nothing handles' };
    if (this.#found !== undefined) throw new TestCodeError(this.#found);
  }

  async #startCall(
    index: number,
    step: Step,
    line: ScriptLine,
    entries: readonly (() => unknown)[],
  ): Promise<void> {
    const { concurrency } = this.#options;
    await this.#until(() => this.#isOver || this.#clients.pendingCount < concurrency);
    await this.#afterPowerLoss();
    this.#clients.start(index, step, line, entries);
  }

  // ---- Faults.

  async #fault(kind: FaultName, line: ScriptLine): Promise<void> {
    const world = this.#world;
    const { random } = world;
    switch (kind) {
      case 'eviction':
        if (this.#host.restartsAtRest) return this.#restart(line);
        await world.takeTurns(Number.POSITIVE_INFINITY, () => this.#isOver);
        return this.#evict(line);
      case 'crash':
        await world.takeTurns(random.below(16), () => this.#isOver);
        if (this.#host.files.medium.isOff) return this.#afterPowerLoss();
        this.#faults.happened('crash');
        return this.#crash(line, 'after a crash');
      case 'failover':
        this.#faults.happened('failover');
        return this.#failover(line);
      case 'deploy': {
        const { length } = this.#options.versions;
        this.#version = (this.#version + 1 + random.below(length - 1)) % length;
        this.#faults.happened('deploy');
        line.text = `deploy version ${this.#version + 1}`;
        if (random.onceIn(2)) return this.#failover(line);
        return this.#crash(line, 'after a deployment');
      }
      case 'reset': {
        const inMemory = this.#host.inMemory();
        if (inMemory.length === 0) return;
        const seen = random.pick(inMemory);
        line.text = `reset of ${seen.label}`;
        this.#noteRunning(line);
        this.#faults.happened('reset');
        await world.finish('reset', this.#host.reset(seen));
        return this.#activity.objectEnded(seen.label);
      }
      default:
        return this.#faults.prepare(kind, line, this.#host);
    }
  }

  async #evict(line: ScriptLine): Promise<void> {
    const before = this.#host.inMemory();
    await this.#world.pass(this.#idleMs + 1, () => this.#isOver);
    await this.#afterPowerLoss();
    const after = new Set(this.#host.inMemory());
    const evicted = before.filter((seen) => !after.has(seen));
    if (evicted.length > 0) this.#faults.happened('eviction');
    line.text = `eviction of ${evicted.map(({ label }) => label).join(', ') || 'nothing'}`;
  }

  /** Restarts the host while no call is in flight, so that all objects leave memory. */
  async #restart(line: ScriptLine): Promise<void> {
    await this.#until(() => this.#found !== undefined || this.#clients.pendingCount === 0);
    this.#throwFound();
    this.#faults.happened('eviction');
    return this.#failover(line);
  }

  /** Ends the host at once and starts the next one, then checks the invariant. */
  async #crash(line: ScriptLine | undefined, when: string): Promise<void> {
    this.#noteRunning(line);
    this.#faults.countFailedCalls(this.#host);
    for (const { method, waits } of this.#activity.hostEnded()) {
      this.#faults.crashedAt.add(`${method} ${waits + 1}`);
    }
    this.#world.note('the host ends');
    await this.#start(await this.#world.finish('crash', this.#host.lose()));
    await this.#rest(when);
  }

  async #failover(line: ScriptLine): Promise<void> {
    this.#noteRunning(line);
    this.#world.note('the host ends in order');
    const { medium } = this.#host.files;
    await this.#world.finish('failover', this.#host.close());
    this.#activity.hostEnded();
    if (medium.isOff) return this.#afterPowerLoss();
    await this.#start(this.#host.files);
  }

  #noteRunning(line: ScriptLine | undefined): void {
    const running = [...this.#activity.running].map(
      ({ object, method, waits }) => `${object}.${method.split('.')[1]} at its wait ${waits + 1}`,
    );
    if (running.length > 0) line?.notes.push(`during ${running.join(', ')}`);
  }

  // ---- Hosts.

  async #start(files: Files): Promise<void> {
    const { sqlite, versions, env, startHost } = this.#options;
    const starting = startHost({
      sqlite,
      world: this.#world,
      activity: this.#activity,
      files,
      classes: versions[this.#version]!,
      env,
      idleMs: this.#idleMs,
    });
    this.#host = await this.#world.finish('The start of a host', starting);
  }

  async #databases(): Promise<Map<string, Uint8Array>> {
    const files = new Map<string, Uint8Array>();
    if (this.#host.isLost || this.#found?.error instanceof NeverEnds) return files;
    this.#faults.heal(this.#host);
    for (const seen of this.#activity.objects.values()) {
      const reading = this.#host.databaseOf(seen).catch((error: unknown) => {
        this.#world.note(`the database of ${seen.label} cannot be read: ${textOf(error)}`);
      });
      const bytes = await this.#world.finish(`Reading ${seen.label}`, reading);
      if (bytes) files.set(seen.label, bytes);
    }
    return files;
  }

  // ---- Tools of the test's code.

  #tools(): AnyTools {
    const random = () => scope.getStore()!.random;
    return {
      env: this.#calls.envFor(() => scope.getStore()?.attempt) as AnyTools['env'],
      int: (least, most) => least + random().below(most - least + 1),
      pick: (items) => random().pick(items),
      chance: (fraction) => random().below(1_000_000) < fraction * 1_000_000,
      unique: () => {
        const key = `k${random().uint32().toString(36)}`;
        scope.getStore()?.attempt?.keys.push(key);
        return key;
      },
    };
  }

  #invariantTools(): InvariantTools<Record<string, object>> {
    const { env } = this.#host;
    const seen = (className: string) =>
      [...this.#activity.objects.values()]
        .filter((object) => object.className === className)
        .sort((a, b) => (a.label < b.label ? -1 : 1));
    return {
      run: this,
      env: this.#calls.envFor(() => undefined) as AnyTools['env'],
      each: (className) => {
        const namespace = env[className] as DurableObjectNamespace;
        return seen(className).map(({ id, name }) =>
          name === undefined
            ? namespace.get(namespace.idFromString(id))
            : namespace.getByName(name),
        );
      },
      calls: this.#calls.made.filter(({ step }) => step >= 0),
      alarms: () => this.#alarms(),
      givenUpAlarms: this.#activity.givenUp,
    };
  }

  async #alarms(): Promise<{ object: string; dueMs: number; lateMs: number }[]> {
    const alarms = [];
    for (const seen of this.#activity.objects.values()) {
      const dueMs = await this.#host.alarmOf(seen);
      if (dueMs === null) continue;
      alarms.push({ object: seen.label, dueMs, lateMs: this.#world.time.now() - dueMs });
    }
    return alarms;
  }
}
