// Replaces timers, `scheduler.wait` and `Date` for object code. A timer belongs to the object that set it, follows the
// clock of its host, and fires through the object's input gate, so that it never runs inside another event's
// transaction.
//
// A timer set by code outside of objects goes to the native function. A timer is cleared when its object's instance or
// its event of an entry point ends. One exception: where tasks are not tracked exactly, a timeout may have been assigned
// to the wrong event, and its real owner would wait for ever. It therefore outlives the event, and runs outside of it.

import { bindToFrame } from '../../../src/shared/calls/io/async-frame.ts';
import { isContextSure, runOutside } from '../../../src/shared/calls/io/current-context.ts';
import type { CurrentContext, IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';

import { hasNodeTimers, Timeout } from './timeout.ts';

type Scope = Pick<
  typeof globalThis,
  'setTimeout' | 'setInterval' | 'clearTimeout' | 'clearInterval'
>;

/** The minimum delay, as in Node. With 0, a timer that sets itself again would stop a controlled clock from advancing. */
const DELAY_MS_MIN = 1;
type Callback = (...args: unknown[]) => unknown;

/** The first id of a timer. It is larger than any id of a native timer, so that both kinds can be told apart. */
const FIRST_ID = 2 ** 40;

/** Replaces the timer functions of the scope. Call the result to restore them. */
export function installTimers(scope: Scope, current: CurrentContext): () => void {
  // The native functions are kept in variables, because browsers refuse a call with a `this` other than the scope.
  const { setTimeout, setInterval, clearTimeout, clearInterval } = scope;
  const timers = new ObjectTimers();

  const set = (callback: unknown, delayMs: unknown, args: unknown[], repeats: boolean) => {
    const context = current();
    if (context === undefined) return undefined;
    // A string is refused, as in workerd; a browser would evaluate it.
    if (typeof callback !== 'function') {
      throw new TypeError(
        `Failed to execute '${repeats ? 'setInterval' : 'setTimeout'}' on 'ServiceWorkerGlobalScope': parameter 1 ` +
          "is not of type 'function'.",
      );
    }
    const run = bindToFrame(() => runAndReportError(callback as Callback, args));
    const waitMs = Math.max(Number(delayMs) || 0, DELAY_MS_MIN);
    const id = timers.set(context, run, waitMs, repeats);
    if (!hasNodeTimers(context)) return id;
    return new Timeout(id, {
      clear: () => timers.clear(id),
      restart: () => {
        timers.clear(id);
        timers.set(context, run, waitMs, repeats, id);
      },
    }) as never;
  };
  const functions = {
    setTimeout: (callback: TimerHandler, delayMs?: number, ...args: unknown[]) =>
      set(callback, delayMs, args, false) ?? setTimeout(callback, delayMs, ...args),
    setInterval: (callback: TimerHandler, delayMs?: number, ...args: unknown[]) =>
      set(callback, delayMs, args, true) ?? setInterval(callback, delayMs, ...args),
    clearTimeout: (id?: number) => {
      if (!timers.clear(id)) clearTimeout(id);
    },
    clearInterval: (id?: number) => {
      if (!timers.clear(id)) clearInterval(id);
    },
  };
  const undo = Object.entries(functions).map(([name, value]) => replaceGlobal(scope, name, value));
  return () => undoAll(undo);
}

class ObjectTimers {
  readonly #clears = new Map<unknown, () => void>();
  #nextId = FIRST_ID;

  set(
    context: IoContext,
    run: () => void,
    delayMs: number,
    repeats: boolean,
    id = this.#nextId++,
  ): number {
    let reenter = context.reentry();
    let cancel = doNothing;
    let release = doNothing;
    const clear = () => {
      this.#clears.delete(id);
      cancel();
      release();
    };
    const wait = () => {
      cancel = context.host.after(delayMs, fire, true);
    };
    let isDue = false;
    const enter = () => {
      if (!this.#clears.has(id)) return; // The timer was cleared while it waited at the gate.
      if (!repeats) clear();
      run();
    };
    const fire = () => {
      if (repeats) wait();
      isDue = true;
      reenter(enter);
    };
    this.#clears.set(id, clear);
    // After the event's end its gate admits nothing, so a timer that waits at the gate has to run outside.
    const continueOutside = () => {
      reenter = runOutside;
      if (isDue) context.host.beforeNextTurn(() => runOutside(enter));
    };
    // As in workerd, a timer keeps its object in memory, but does not prolong an event of an entry point.
    release = context.endsWithEvent
      ? context.onEnd(repeats || isContextSure() ? clear : continueOutside)
      : context.retain(clear);
    if (this.#clears.has(id)) wait();
    return id;
  }

  /** Returns false if the id belongs to no timer of an object. */
  clear(given: unknown): boolean {
    const id = given instanceof Timeout ? Number(given) : given;
    const clear = this.#clears.get(id);
    clear?.();
    return clear !== undefined;
  }
}

const doNothing = () => {};

/** Runs the callback. An error is reported globally: no caller waits for a timer, and other objects must not fail. */
function runAndReportError(callback: Callback, args: unknown[]): void {
  try {
    Reflect.apply(callback, globalThis, args);
  } catch (error) {
    if (typeof reportError === 'function') reportError(error);
    else console.error('A timer of an object failed:', error);
  }
}

/**
 * Makes `Date` show the controlled time, if there is one. Call the result to restore it. Instances, `instanceof`,
 * subclasses and structured clones stay the engine's. `performance.now` stays real, because it measures durations.
 */
export function installDate(
  scope: { Date: DateConstructor },
  controlledNow: () => number | undefined,
): () => void {
  const Original = scope.Date;
  // `now` is a member, because bundlers may rename a variable but not a member: code can read `Date.now.name`.
  const clock = { now: () => controlledNow() ?? Original.now() };
  const controlled: DateConstructor = new Proxy(Original, {
    construct: (target, args, newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [clock.now()] : args,
        newTarget === controlled ? target : newTarget,
      ),
    apply: () => new Original(clock.now()).toString(),
    get: (target, name) => (name === 'now' ? clock.now : Reflect.get(target, name)),
  });
  const undo = replaceGlobal(scope, 'Date', controlled);
  // This keeps `new Date().constructor === Date`.
  Original.prototype.constructor = controlled;
  return () => {
    undo();
    Original.prototype.constructor = Original;
  };
}

interface WaitOptions {
  readonly signal?: AbortSignal | null;
}

type WaitScope = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'> & { scheduler?: object };

/**
 * Adds `scheduler.wait`, a timer as a promise, which browsers lack. If the scope has a `scheduler`, its other methods
 * stay. Install the timers first. Call the result to remove `wait`.
 *
 * Invariant: after a wait or its object has ended, the signal has no listener of it.
 */
export function installSchedulerWait(scope: WaitScope, current: CurrentContext): () => void {
  // The function is async so that wrong arguments reject, as in workerd.
  const wait = async (...args: [delayMs?: number, options?: WaitOptions | null]): Promise<void> => {
    if (args.length === 0) throw new TypeError('scheduler.wait: takes a delay in milliseconds.');
    const [delayMs, options] = args;
    if (typeof options !== 'object' && options !== undefined) {
      throw new TypeError(
        "Failed to execute 'wait' on 'Scheduler': parameter 2 is not of type 'WaitOptions'.",
      );
    }
    const signal = options?.signal ?? undefined;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new TypeError("scheduler.wait: takes an AbortSignal as the option 'signal'.");
    }
    signal?.throwIfAborted();
    const context = current();
    const reenter = context?.reentry() ?? runNow;
    await new Promise<void>((resolve, reject) => {
      const stopListening = onAbort(signal, context, () => {
        scope.clearTimeout(id);
        reenter(() => reject(signal?.reason));
      });
      const id = scope.setTimeout(() => {
        stopListening();
        resolve();
      }, delayMs);
    });
  };
  const { scheduler } = scope;
  return scheduler === undefined
    ? replaceGlobal(scope, 'scheduler', { wait, [Symbol.toStringTag]: 'Scheduler' })
    : replaceGlobal(scheduler, 'wait', wait);
}

/** Calls `aborted` when the signal aborts. Call the result to stop listening; the end of the context also stops it. */
function onAbort(
  signal: AbortSignal | undefined,
  context: IoContext | undefined,
  aborted: () => void,
): () => void {
  if (signal === undefined) return () => {};
  const listener = () => {
    stopListening();
    aborted();
  };
  const removeListener = () => signal.removeEventListener('abort', listener);
  signal.addEventListener('abort', listener);
  const unwatch = context?.onEnd(removeListener);
  const stopListening = () => {
    removeListener();
    unwatch?.();
  };
  return stopListening;
}

const runNow = (end: () => void) => end();
