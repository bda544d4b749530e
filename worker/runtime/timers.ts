// Timers of object code: a timer belongs to the object whose event set it, and fires through its
// input gate. Without this, a timer would run in the middle of another event's transaction.
//
// Replaces the global functions, since object code calls those. Timers set by anything but an
// object's task go to the original functions unchanged.

import type { ObjectHost } from './object-host.ts';

type Scope = Pick<
  typeof globalThis,
  'setTimeout' | 'setInterval' | 'clearTimeout' | 'clearInterval'
>;

/** Routes the scope's timers through the gate of the object that sets them. */
export function installTimers(scope: Scope, host: ObjectHost): void {
  const setTimeoutOriginal = scope.setTimeout;
  const setIntervalOriginal = scope.setInterval;

  const gated = (callback: unknown, args: unknown[]): (() => void) | undefined => {
    const instance = host.current;
    if (instance === undefined || typeof callback !== 'function') return undefined;
    const context = instance.gate.context;
    return () => instance.gate.deliver(context, () => callback(...args));
  };

  scope.setTimeout = ((callback: TimerHandler, delayMs?: number, ...args: unknown[]) => {
    const task = gated(callback, args);
    return task === undefined
      ? setTimeoutOriginal(callback, delayMs, ...args)
      : setTimeoutOriginal(task, delayMs);
  }) as typeof setTimeout;

  scope.setInterval = ((callback: TimerHandler, delayMs?: number, ...args: unknown[]) => {
    const task = gated(callback, args);
    return task === undefined
      ? setIntervalOriginal(callback, delayMs, ...args)
      : setIntervalOriginal(task, delayMs);
  }) as typeof setInterval;
}
