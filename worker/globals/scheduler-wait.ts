// `scheduler.wait` of object code, which workerd has and browsers lack: a timer as a promise.
//
// Built on the scope's timers, so a wait runs on the host's clock and ends through the gate of the
// object that waits. If the scope has a `scheduler`, its other methods stay.
//
// Invariant: a wait that ended, or whose object ended, has no listener at its signal.

import type { CurrentContext, IoContext } from '../../src/io/io-context.ts';
import { replaceGlobal } from '../../src/io/replace-global.ts';

interface WaitOptions {
  readonly signal?: AbortSignal | null;
}

type Scope = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'> & { scheduler?: object };

/** Gives the scope `scheduler.wait`. The scope's timers must be installed; the result undoes it. */
export function installSchedulerWait(scope: Scope, current: CurrentContext): () => void {
  // Async: wrong arguments reject, as on workerd.
  const wait = async (...args: [delayMs?: number, options?: WaitOptions | null]): Promise<void> => {
    if (args.length === 0) throw new TypeError('scheduler.wait: takes a delay in milliseconds.');
    const [delayMs, options] = args;
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
