// Defines the object that `setTimeout` and `setInterval` return if the script enables Node's timers. Many packages for
// Node call `unref()` on it.

import type { IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { DISPOSE } from '../../../src/shared/calls/stubs/rpc-promise.ts';

/** From this date on, `nodejs_compat` includes Node's timers (workerd 1.20261117.1). */
const NODE_TIMERS_DATE = '2026-02-10';

/** True if timers of this context are objects, false if they are numbers. */
export function hasNodeTimers({ host, compatibilityDate = '' }: IoContext): boolean {
  const flags = host.compatibilityFlags;
  if (flags.includes('no_nodejs_global_timers')) return false;
  if (flags.includes('enable_nodejs_global_timers')) return true;
  return flags.includes('nodejs_compat') && compatibilityDate >= NODE_TIMERS_DATE;
}

/** The operations of a timer on its underlying clock. */
interface TimerControl {
  clear(): void;
  /** Starts the whole delay again, even if the timer has fired or was cleared. */
  restart(): void;
}

export class Timeout {
  readonly #id: number;
  readonly #control: TimerControl;
  #hasRef = true;

  constructor(id: number, control: TimerControl) {
    this.#id = id;
    this.#control = control;
  }

  refresh(): this {
    this.#control.restart();
    return this;
  }

  /** Changes only the result of `hasRef`, as in workerd: the timer still keeps its object in memory. */
  unref(): this {
    this.#hasRef = false;
    return this;
  }

  ref(): this {
    this.#hasRef = true;
    return this;
  }

  hasRef(): boolean {
    return this.#hasRef;
  }

  close(): this {
    this.#control.clear();
    return this;
  }

  [DISPOSE](): void {
    this.#control.clear();
  }

  [Symbol.toPrimitive](): number {
    return this.#id;
  }
}
