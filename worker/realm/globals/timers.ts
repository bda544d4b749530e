// Time as object code sees it: timers, `scheduler.wait` and `Date`. A timer belongs to the object whose event set it, runs on its host's clock,
// and fires through the object's input gate. Without this, a timer would run in the middle of
// another event's transaction.
//
// Replaces the global functions, because object code calls those. A timer set outside an object's task
// goes to the original function unchanged. A timer ends with its object's instance, or with its event of an entry point.
// Not a timeout that may be somebody else's, whose code would wait for it for ever; an interval would never end.

import { bindToFrame } from '../../../src/shared/calls/io/async-frame.ts';
import { isContextSure, runOutside } from '../../../src/shared/calls/io/current-context.ts';
import type { CurrentContext, IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';

import { hasNodeTimers, Timeout } from './timeout.ts';

type Scope = Pick<
  typeof globalThis,
  'setTimeout' | 'setInterval' | 'clearTimeout' | 'clearInterval'
>;

/** Like Node's: under control, a timer that sets itself again would otherwise keep time from moving. */
const DELAY_MS_MIN = 1;
type Callback = (...args: unknown[]) => unknown;

/** Ids of these timers begin where no engine's ids do. */
const FIRST_ID = 2 ** 40;

/** Routes the scope's timers through the gate of the object that sets them; the result undoes it. */
export function installTimers(scope: Scope, current: CurrentContext): () => void {
  // Called by name: browsers refuse them as methods of anything but the scope.
  const { setTimeout, setInterval, clearTimeout, clearInterval } = scope;
  const timers = new ObjectTimers();

  const set = (callback: unknown, delayMs: unknown, args: unknown[], repeats: boolean) => {
    const context = current();
    if (context === undefined) return undefined;
    // A browser would run a text as code.
    if (typeof callback !== 'function') {
      throw new TypeError(
        `Failed to execute '${repeats ? 'setInterval' : 'setTimeout'}' on 'ServiceWorkerGlobalScope': parameter 1 ` +
          "is not of type 'function'.",
      );
    }
    const run = bindToFrame(() => report(callback as Callback, args));
    const waitMs = Math.max(Number(delayMs) || 0, DELAY_MS_MIN);
    const id = timers.set(context, run, waitMs, repeats);
    if (!hasNodeTimers(context)) return id;
    return new Timeout(id, {
      clear: () => timers.clear(id),
      again: () => {
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
    let cancel = NOTHING;
    let release = NOTHING;
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
      if (!this.#clears.has(id)) return; // cleared while it waited at the gate
      if (!repeats) clear();
      run();
    };
    const fire = () => {
      if (repeats) wait();
      isDue = true;
      reenter(enter);
    };
    this.#clears.set(id, clear);
    // The gate lets nothing in any more, nor a timer that waits at it.
    const outlive = () => {
      reenter = runOutside;
      if (isDue) context.host.beforeNextTurn(() => runOutside(enter));
    };
    // As in workerd, an object that waits stays in memory, and an event does not wait.
    release = context.endsWithEvent
      ? context.onEnd(repeats || isContextSure() ? clear : outlive)
      : context.retain(clear);
    if (this.#clears.has(id)) wait();
    return id;
  }

  /** False when it is not the timer of an object. */
  clear(given: unknown): boolean {
    const id = given instanceof Timeout ? Number(given) : given;
    const clear = this.#clears.get(id);
    clear?.();
    return clear !== undefined;
  }
}

const NOTHING = () => {};

// Nobody waits for a timer, and its failure concerns no other object.
function report(callback: Callback, args: unknown[]): void {
  try {
    Reflect.apply(callback, globalThis, args);
  } catch (error) {
    if (typeof reportError === 'function') reportError(error);
    else console.error('A timer of an object failed:', error);
  }
}

/**
 * Makes the scope's Date show the controlled time, if there is one; the result undoes it. In every other way
 * it is the same class: instances, `instanceof`, subclasses and structured clones are the engine's own.
 * `performance.now` stays real time, because it measures.
 */
export function installDate(
  scope: { Date: DateConstructor },
  controlledNow: () => number | undefined,
): () => void {
  const Original = scope.Date;
  // A member, so that it is called `now` in bundles too.
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
  // `new Date().constructor` is the Date that code knows.
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
 * Gives the scope `scheduler.wait`, which browsers lack: a timer as a promise. If the scope has a `scheduler`, its
 * other methods stay. The scope's timers must be installed; the result undoes it.
 *
 * Invariant: a wait that ended, or whose object ended, has no listener at its signal.
 */
export function installSchedulerWait(scope: WaitScope, current: CurrentContext): () => void {
  // Async: wrong arguments reject, as on workerd.
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
    const reenter = context?.reentry() ?? atOnce;
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

/** Calls `aborted` when the signal aborts, unless the context ends or the result is called before. */
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

const atOnce = (end: () => void) => end();
