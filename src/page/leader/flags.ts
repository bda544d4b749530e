// The flags of a page's calls that can be cancelled: which signal has which, and who is told of an abort.
//
// The calls of one signal that are under way share a flag. Aborting revokes it, which a busy worker notices;
// the calls then tell the worker by a message too. A flag that was not revoked is used again, because making
// one takes as long as a call.
//
// Invariant: a signal has a listener, and is referred to, only while one of its calls is under way. No assertion keeps
// this: a signal does not tell its listeners.

import type { CallFlags, FlaggedCall } from '../../shared/contract/call-flag.ts';

export interface FlagEnvironment {
  /** Makes a blob URL. */
  make(): string;
  revoke(url: string): void;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Maximum number of unused flags that are kept for later calls. */
const SPARE_MAX = 32;

interface SignalFlag {
  readonly url: string;
  readonly told: Set<() => void>;
  readonly abort: () => void;
}

export class Flags implements CallFlags {
  readonly #environment: FlagEnvironment;
  readonly #spare: string[] = [];
  readonly #bySignal = new Map<AbortSignal, SignalFlag>();

  constructor(environment: FlagEnvironment) {
    this.#environment = environment;
  }

  begin(signal: AbortSignal, aborted: () => void): FlaggedCall {
    const used = this.#bySignal.get(signal) ?? this.#raise(signal);
    used.told.add(aborted);
    return {
      flag: { url: used.url, madeMs: this.#environment.now() },
      end: () => {
        if (used.told.delete(aborted) && used.told.size === 0) this.#putAway(signal, used);
      },
    };
  }

  #raise(signal: AbortSignal): SignalFlag {
    const url = this.#spare.pop() ?? this.#environment.make();
    const told = new Set<() => void>();
    const abort = () => {
      this.#environment.revoke(url);
      for (const tell of [...told]) tell();
    };
    const used = { url, told, abort };
    this.#bySignal.set(signal, used);
    signal.addEventListener('abort', abort, { once: true });
    return used;
  }

  #putAway(signal: AbortSignal, { url, abort }: SignalFlag): void {
    this.#bySignal.delete(signal);
    signal.removeEventListener('abort', abort);
    if (signal.aborted) return;
    if (this.#spare.length < SPARE_MAX) this.#spare.push(url);
    else this.#environment.revoke(url);
  }
}
