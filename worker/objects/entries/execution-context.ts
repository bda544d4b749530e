// `ctx` of one event of an entry point.

import { checkArgumentCount } from '../../../src/shared/contract/arguments.ts';
import { refuseToClone } from '../../../src/shared/values/object-kind.ts';

/** The event that a `ctx` belongs to. */
export interface EventOwner {
  waitFor(work: Promise<unknown>): void;
  passThroughOnException(): void;
}

export class ExecutionContext {
  readonly props: object;
  readonly exports: object;
  readonly #owner: EventOwner;

  constructor(owner: EventOwner, props: object, exports: object) {
    this.#owner = owner;
    this.props = props;
    this.exports = exports;
  }

  /** Extends the event until the promise settles. A rejection is reported. */
  waitUntil(...work: [unknown]): void {
    checkArgumentCount('waitUntil', work.length, 1);
    this.#owner.waitFor(Promise.resolve(work[0]));
  }

  /** Makes the request go to the network instead if the handler throws. */
  passThroughOnException(): void {
    this.#owner.passThroughOnException();
  }

  get [Symbol.toStringTag](): string {
    return 'ExecutionContext';
  }
}

refuseToClone(ExecutionContext);
