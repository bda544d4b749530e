// The forecast of a replica: a branch of the base, on which the class runs the calls that the server has not answered.
//
// A branch is never taken back: the next base has a new one, on which the calls run again.
//
// Invariant: a call that has reached outside of the branch, has ended its instance or has not ended in time leaves
// nothing: the branch is made again without it.
//
// Does not know the queue, nor what was sent.

import { callEntry } from '@ctx-storage/core/calls';
import {
  addressKey,
  branchAddress,
  mustBeCallable,
  type ObjectAddress,
} from '@ctx-storage/core/object';
import { deserialize, serialize } from '@ctx-storage/core/values';
import { assert } from '@ctx-storage/worker/engine';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';
import type { QueuedCall } from '../protocol/follower.ts';

/**
 * How long a call may wait for something before it is left to the server (our choice): so many steps, one after the other.
 * While a thread is held up, or a device sleeps, one of them at most passes.
 */
const FORECAST_STEPS = 20;
const STEP_MS = 25;
const FORK = { at: null, name: null, isKept: false, sends: false } as const;

export type ForecastAnswer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown };

/** `outside`: only the server can run it, and nothing of it is left here. */
export type ForecastRun =
  | { readonly kind: 'read' | 'wrote'; readonly answer: ForecastAnswer }
  | { readonly kind: 'outside' };

interface Environment {
  /** Runs the task after the delay, in real time; the result cancels it. */
  afterRealTime(delayMs: number, task: () => void): () => void;
}

export class Forecast {
  readonly #host: ObjectHost;
  readonly #base: ObjectInstance;
  readonly #environment: Environment;
  /** The calls that it has run, or has found to be the server's, from the first `remake` on. */
  #calls!: readonly QueuedCall[];
  readonly #outside = new Set<number>();
  #branch: { readonly address: ObjectAddress; readonly release: () => void } | null = null;

  constructor(host: ObjectHost, base: ObjectInstance, environment: Environment) {
    this.#host = host;
    this.#base = base;
    this.#environment = environment;
  }

  /** The branch, on which reads and live reads run, once `remake` has made one. */
  get address(): ObjectAddress {
    assert(this.#branch !== null, 'a forecast was used before it was made');
    return this.#branch.address;
  }

  /** True while it is made, and no call and no live read holds it. */
  get isUnused(): boolean {
    if (this.#branch === null) return false;
    return this.#host.instances.live(addressKey(this.#branch.address))?.context.isIdle ?? true;
  }

  /** Makes the branch on the base as it is now, and runs the calls. @throws errors of opening it */
  async remake(calls: readonly QueuedCall[] = this.#calls): Promise<void> {
    this.#calls = calls;
    while (!(await this.#tryRemake())); // each time, one more call is left out
  }

  /** Runs a call of the app, whose arguments the method may change. @throws errors of opening the branch */
  async run(method: string, args: readonly unknown[]): Promise<ForecastRun> {
    const run = await this.#used((instance) =>
      this.#inTime(instance, () => runOf(instance, method, args)),
    );
    if (run !== null && run.kind !== 'outside') return run;
    await this.remake();
    return { kind: 'outside' };
  }

  /** The call that has just run is in the queue. */
  keep(call: QueuedCall): void {
    this.#calls = [...this.#calls, call];
  }

  close(): void {
    this.#branch?.release();
    this.#branch = null;
  }

  async #tryRemake(): Promise<boolean> {
    this.close();
    const { id } = await this.#base.deliver(() => this.#host.branches.fork(this.#base, FORK));
    const address = branchAddress(this.#base.address, id);
    this.#branch = { address, release: this.#host.branches.hold(address) };
    const calls = this.#calls.filter(({ n }) => !this.#outside.has(n));
    if (calls.length === 0) return true;
    return this.#used(async (instance) => {
      for (const call of calls) {
        const isInside = await this.#inTime(instance, () => repeat(instance, call));
        if (isInside) continue;
        this.#outside.add(call.n);
        return false;
      }
      return true;
    });
  }

  async #used<T>(use: (instance: ObjectInstance) => Promise<T>): Promise<T> {
    const instance = await this.#host.instance(this.address);
    const release = instance.retain();
    try {
      return await use(instance);
    } finally {
      release();
    }
  }

  /** An event of the instance; null: it has not ended in time, or has ended the instance. */
  async #inTime<T>(instance: ObjectInstance, event: () => Promise<T>): Promise<T | null> {
    let cancel!: () => void;
    const late = new Promise<null>((resolve) => {
      const wait = (steps: number) => {
        if (steps === 0) return resolve(null);
        cancel = this.#environment.afterRealTime(STEP_MS, () => wait(steps - 1));
      };
      wait(FORECAST_STEPS);
    });
    try {
      const result = await Promise.race([instance.deliver(event), late]);
      return instance.hasEnded ? null : result;
    } catch (error) {
      if (!instance.hasEnded) throw error;
      return null;
    } finally {
      cancel();
    }
  }
}

/** Runs a method, and finds out whether it has written or reached outside. */
async function runOf(
  { object, storage, context }: ObjectInstance,
  method: string,
  args: readonly unknown[],
): Promise<ForecastRun> {
  const before = storage.currentBookmark();
  const { refusedSends } = context;
  let answer: ForecastAnswer;
  try {
    mustBeCallable(object!);
    answer = { kind: 'value', value: copyOf(await callEntry(object!, [method], args)) };
  } catch (error) {
    answer = { kind: 'error', error };
  }
  if (context.refusedSends !== refusedSends) return { kind: 'outside' };
  return { kind: storage.currentBookmark() === before ? 'read' : 'wrote', answer };
}

/** Runs a call once more; false: it has reached outside. */
async function repeat({ object, context }: ObjectInstance, call: QueuedCall): Promise<boolean> {
  const { refusedSends } = context;
  try {
    mustBeCallable(object!);
    // A method may change its arguments.
    await callEntry(object!, [call.method], copyOf(call.args) as unknown[]);
  } catch {
    // Its first run was reported.
  }
  return context.refusedSends === refusedSends;
}

/** A value as it arrives elsewhere. @throws DataCloneError */
function copyOf(value: unknown): unknown {
  return deserialize(serialize(value));
}
