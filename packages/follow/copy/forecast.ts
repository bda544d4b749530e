// The forecast of a replica: a branch of the base, on which the class runs the calls that the server has not answered.
//
// Whenever the base has changed, the branch is discarded, and the calls run again on a new one.
//
// Invariant: the branch has no writes of a call that reached outside of it, ended its instance, or did not end in time;
// the branch is made again without that call. An assertion checks this for the calls that a forecast keeps.
//
// This file does not know the queue, nor which calls were sent.

import { callEntry } from '@ctx-storage/core/calls';
import { assert, storageError } from '@ctx-storage/core/errors';
import {
  addressKey,
  branchAddress,
  mustBeCallable,
  type ObjectAddress,
} from '@ctx-storage/core/object';
import { deserialize, serialize } from '@ctx-storage/core/values';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';
import type { QueuedCall } from '../protocol/follower.ts';

/**
 * A call may wait for 20 timers of 25 ms, one after the other, before it is left to the server (our choice). A single
 * timer of 500 ms would end a call that had no time to run, if the thread was blocked or the device slept meanwhile.
 */
const FORECAST_STEPS = 20;
const STEP_MS = 25;
const FORK_OPTIONS = { at: null, name: null, isKept: false, sends: false } as const;
/** The methods of `ctx` that only a server has: a call that uses one is left to it. */
const SERVER_METHODS = ['endFollowers', 'allowFollowers'];

export type ForecastAnswer =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown };

/** `outside`: only the server can run the call; its writes here were discarded. `read`: the call has written nothing. */
export type ForecastRun =
  | { readonly kind: 'read' | 'wrote'; readonly answer: ForecastAnswer }
  | { readonly kind: 'outside' };

interface Environment {
  /**
   * The identity to which the copy belongs, which is `ctx.caller` of the copy's calls. While it is not known, calls
   * that read `ctx.caller` are left to the server.
   */
  readonly identity?: string | undefined;
  /** Runs the task after a delay in real time. The returned function cancels it. */
  afterRealTime(delayMs: number, task: () => void): () => void;
}

export class Forecast {
  readonly #host: ObjectHost;
  readonly #base: ObjectInstance;
  readonly #environment: Environment;
  /** The calls of the forecast, including those that only the server can run. The first `remake` sets this field. */
  #calls!: readonly QueuedCall[];
  /** The numbers of the calls that only the server can run. */
  readonly #outside = new Set<number>();
  #hasWarned = false;
  #branch: { readonly address: ObjectAddress; readonly release: () => void } | null = null;

  constructor(host: ObjectHost, base: ObjectInstance, environment: Environment) {
    this.#host = host;
    this.#base = base;
    this.#environment = environment;
  }

  /** The address of the branch, on which reads and live reads run. `remake` must have made one. */
  get address(): ObjectAddress {
    assert(this.#branch !== null, 'a forecast was used before it was made');
    return this.#branch.address;
  }

  /** True if there is a branch, and neither a call nor a live read uses it. */
  get isUnused(): boolean {
    if (this.#branch === null) return false;
    return this.#host.instances.live(addressKey(this.#branch.address))?.context.isIdle ?? true;
  }

  /** Makes a new branch of the present base, and runs the calls on it. @throws errors of opening the branch */
  async remake(calls: readonly QueuedCall[] = this.#calls): Promise<void> {
    this.#calls = calls;
    while (!(await this.#tryRemake())); // Each failed attempt excludes one more call.
  }

  /** Runs a new call of the app. The method may change `args`. @throws errors of opening the branch */
  async run(method: string, args: readonly unknown[]): Promise<ForecastRun> {
    const run = await this.#withInstance((instance) =>
      this.#runInTime(instance, () => runMethod(instance, method, args)),
    );
    if (run !== null && run.kind !== 'outside') return run;
    await this.remake();
    return { kind: 'outside' };
  }

  /** Adds the call that has just run, now that it is in the queue, to those that run again later. */
  keep(call: QueuedCall): void {
    assert(!this.#outside.has(call.n), 'a forecast kept a call that only the server can run');
    this.#calls = [...this.#calls, call];
  }

  close(): void {
    this.#branch?.release();
    this.#branch = null;
  }

  /** Makes a branch and runs the calls. Returns false if one of them must be left to the server. */
  async #tryRemake(): Promise<boolean> {
    this.close();
    const { id } = await this.#base.deliver(() =>
      this.#host.branches.fork(this.#base, {
        ...FORK_OPTIONS,
        prepare: (instance) => this.#addServerMembers(instance),
      }),
    );
    const address = branchAddress(this.#base.address, id);
    this.#branch = { address, release: this.#host.branches.hold(address) };
    const calls = this.#calls.filter(({ n }) => !this.#outside.has(n));
    if (calls.length === 0) return true;
    return this.#withInstance(async (instance) => {
      for (const call of calls) {
        const isInside = await this.#runInTime(instance, () => runAgain(instance, call));
        if (isInside) continue;
        this.#outside.add(call.n);
        return false;
      }
      return true;
    });
  }

  /** Adds the members that `followable` gives to `ctx` on a server. */
  #addServerMembers(instance: ObjectInstance): void {
    const { state, context } = instance;
    for (const name of SERVER_METHODS) {
      const value = async () => context.checkSends(`ctx.${name}()`);
      Object.defineProperty(state, name, { value, configurable: true });
    }
    // On the server, too, the constructor has no caller.
    const get = () => (instance.object === undefined ? undefined : this.#callerOf(instance));
    Object.defineProperty(state, 'caller', { get, configurable: true });
  }

  #callerOf({ context }: ObjectInstance): string {
    const { identity } = this.#environment;
    if (identity !== undefined) return identity;
    // The call counts as one that reached outside, so the server runs it, even if the class handles the error.
    context.refusedSends += 1;
    const error = callerUnknown(this.#base.address);
    if (!this.#hasWarned) console.warn(error.message);
    this.#hasWarned = true;
    throw error;
  }

  async #withInstance<T>(use: (instance: ObjectInstance) => Promise<T>): Promise<T> {
    const instance = await this.#host.instance(this.address);
    const release = instance.retain();
    try {
      return await use(instance);
    } finally {
      release();
    }
  }

  /** Runs an event of the instance. Returns null if it has not ended in time, or has ended the instance. */
  async #runInTime<T>(instance: ObjectInstance, event: () => Promise<T>): Promise<T | null> {
    let cancel!: () => void;
    const tooLate = new Promise<null>((resolve) => {
      const wait = (steps: number) => {
        if (steps === 0) return resolve(null);
        cancel = this.#environment.afterRealTime(STEP_MS, () => wait(steps - 1));
      };
      wait(FORECAST_STEPS);
    });
    try {
      const result = await Promise.race([instance.deliver(event), tooLate]);
      return instance.hasEnded ? null : result;
    } catch (error) {
      if (!instance.hasEnded) throw error;
      return null;
    } finally {
      cancel();
    }
  }
}

/** Runs a method, and tells whether it has written or reached outside. */
async function runMethod(
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

/** Runs a call again. Returns false if it has reached outside. */
async function runAgain({ object, context }: ObjectInstance, call: QueuedCall): Promise<boolean> {
  const { refusedSends } = context;
  try {
    mustBeCallable(object!);
    // The method gets a copy, because it may change its arguments.
    await callEntry(object!, [call.method], copyOf(call.args) as unknown[]);
  } catch {
    // The app got the result of the first run, so an error of this run is ignored.
  }
  return context.refusedSends === refusedSends;
}

function callerUnknown({ className }: ObjectAddress): Error {
  return storageError(
    'FOLLOW_UNSUPPORTED',
    `ctx.caller of ${className}: this copy does not know whose it is, so each call that reads it waits for the server's answer. ` +
      `Give the option identity: follow({ ${className}: { url, identity } }), with the identity that authorize returns.`,
  );
}

/** Copies a value as if it were sent. @throws DataCloneError */
function copyOf(value: unknown): unknown {
  return deserialize(serialize(value));
}
