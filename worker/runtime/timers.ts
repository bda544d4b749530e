// Timers of object code: a timer belongs to the object whose event set it, runs on the host's clock,
// and fires through the object's input gate. Without this, a timer would run in the middle of
// another event's transaction.
//
// Replaces the global functions, since object code calls those. Timers set by anything but an
// object's task go to the original functions unchanged.

import type { Clock } from './clock.ts';
import type { CurrentTask } from './gated-fetch.ts';

type Scope = Pick<
  typeof globalThis,
  'setTimeout' | 'setInterval' | 'clearTimeout' | 'clearInterval'
>;

/** As Node's: time that is controlled must move on, or a timer that sets itself again never ends. */
const DELAY_MS_MIN = 1;
type Callback = (...args: unknown[]) => unknown;

/** Ids of these timers begin where no engine's do. */
const FIRST_ID = 2 ** 40;

/** Routes the scope's timers through the gate of the object that sets them; the result undoes it. */
export function installTimers(scope: Scope, host: CurrentTask, clock: Clock): () => void {
  // Called by their names: as methods of anything but the scope browsers refuse them.
  const { setTimeout, setInterval, clearTimeout, clearInterval } = scope;
  const original = { setTimeout, setInterval, clearTimeout, clearInterval };
  const cancels = new Map<number, () => void>();
  let nextId = FIRST_ID;

  const set = (callback: unknown, delayMs: unknown, args: unknown[], repeats: boolean) => {
    const instance = host.current;
    if (instance === undefined || typeof callback !== 'function') return undefined;
    const id = nextId++;
    const context = instance.gate.context;
    const release = instance.retain(); // workerd: an object that waits stays in memory
    const wait = () =>
      clock.after(
        Math.max(Number(delayMs) || 0, DELAY_MS_MIN),
        () => {
          if (repeats && !instance.hasEnded) again();
          else clear(id);
          instance.gate.deliver(context, () => run(callback as Callback, args));
        },
        true,
      );
    const again = () => {
      const cancel = wait();
      cancels.set(id, () => {
        cancel();
        release();
      });
    };
    again();
    return id;
  };
  const clear = (id: unknown): boolean => {
    const cancel = cancels.get(id as number);
    cancel?.();
    return cancels.delete(id as number);
  };

  Object.assign(scope, {
    setTimeout: (callback: TimerHandler, delayMs?: number, ...args: unknown[]) =>
      set(callback, delayMs, args, false) ?? setTimeout(callback, delayMs, ...args),
    setInterval: (callback: TimerHandler, delayMs?: number, ...args: unknown[]) =>
      set(callback, delayMs, args, true) ?? setInterval(callback, delayMs, ...args),
    clearTimeout: (id?: number) => {
      if (!clear(id)) clearTimeout(id);
    },
    clearInterval: (id?: number) => {
      if (!clear(id)) clearInterval(id);
    },
  });
  return () => {
    Object.assign(scope, original);
    for (const cancel of cancels.values()) cancel();
  };
}

// Of all objects, only the one whose timer it is has to do with the failure, and nobody waits for it.
function run(callback: Callback, args: unknown[]): void {
  try {
    callback(...args);
  } catch (error) {
    if (typeof reportError === 'function') reportError(error);
    else console.error('A timer of an object failed:', error);
  }
}
