// `scheduler.wait` of object code, which workerd has and browsers lack: a timer as a promise.
//
// Stands on the scope's timers, so a wait runs on the host's clock and ends through the gate of the
// object that waits. A `scheduler` that the scope has keeps its other methods.

import type { CurrentContext } from '../../src/io/io-context.ts';
import { replaceGlobal } from '../../src/io/replace-global.ts';

interface WaitOptions {
  readonly signal?: AbortSignal | null;
}

type Scope = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'> & { scheduler?: object };

/** Gives the scope `scheduler.wait`, above timers that are installed; the result undoes it. */
export function installSchedulerWait(scope: Scope, current: CurrentContext): () => void {
  // Async: arguments that are wrong reject, as workerd's do.
  const wait = async (...args: [delayMs?: number, options?: WaitOptions | null]): Promise<void> => {
    if (args.length === 0) throw new TypeError('scheduler.wait: takes a delay in milliseconds.');
    const [delayMs, options] = args;
    const signal = options?.signal ?? undefined;
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new TypeError("scheduler.wait: takes an AbortSignal as the option 'signal'.");
    }
    signal?.throwIfAborted();
    const reenter = current()?.reentry() ?? atOnce;
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        scope.clearTimeout(id);
        reenter(() => reject(signal?.reason));
      };
      const id = scope.setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, delayMs);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  };
  const { scheduler } = scope;
  return scheduler === undefined
    ? replaceGlobal(scope, 'scheduler', { wait })
    : replaceGlobal(scheduler, 'wait', wait);
}

const atOnce = (end: () => void) => end();
