// The result of `setTimeout` and `setInterval` where the script asks for Node's timers, as many packages for Node do, which
// call `unref()` on it.

import type { IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { DISPOSE } from '../../../src/shared/calls/stubs/rpc-promise.ts';

/** From this date on, `nodejs_compat` includes Node's timers (workerd 1.20261117.1). */
const NODE_TIMERS_DATE = '2026-02-10';

/** Whether a timer is an object, and not a number. */
export function hasNodeTimers({ host, compatibilityDate = '' }: IoContext): boolean {
  const flags = host.compatibilityFlags;
  if (flags.includes('no_nodejs_global_timers')) return false;
  if (flags.includes('enable_nodejs_global_timers')) return true;
  return flags.includes('nodejs_compat') && compatibilityDate >= NODE_TIMERS_DATE;
}

/** How a timer is changed. */
interface TimerControl {
  clear(): void;
  /** Waits for the whole delay again, also if the timer has fired or was cleared. */
  again(): void;
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
    this.#control.again();
    return this;
  }

  /** Changes only what `hasRef` says, as on workerd: an object that waits stays in memory. */
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
