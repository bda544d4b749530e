// Tracks which instance of its object a stub has reached, and may reach.
//
// A stub that code in objects and Workers holds is bound to the instance that it reached first. When that instance is
// reset, the stub is broken: all its calls reject with the reason, as in workerd, and only a new stub reaches the next
// instance. A stub of a page or a program never breaks, because it outlives instances: each of its calls has its own
// `Reach`.
//
// Invariant: a stub that was never used, or whose connection was lost, is bound to no instance. An eviction breaks no stub.

import type { Payload } from '../../wire/address.ts';
import { fromWire } from '../../wire/errors-on-wire.ts';
import type { ObjectOutcome, ObjectRequest } from '../../wire/protocol.ts';
import { remoteError } from './remote-error.ts';

type State =
  | { readonly kind: 'free'; readonly incarnation?: never }
  | { readonly kind: 'bound'; readonly connection: object; readonly incarnation: number }
  | {
      readonly kind: 'broken';
      readonly connection: object;
      readonly reason: unknown;
      readonly incarnation?: never;
    };

const FREE: State = { kind: 'free' };

/** Limits which instances a call may reach, for a stub that never breaks. */
export interface Reach {
  /** The last instance that the call may reach. Absent if it may reach any instance. */
  readonly incarnation?: number;
}

export class Bond {
  #state: State = FREE;

  /**
   * Sends a request to the object over this connection. `request` is called only if the stub is not broken. `told`
   * receives the call's number in the queue of an object that follows another one. Pass `reach` if the stub never breaks.
   *
   * @throws the object's error, or the reason why the stub is broken
   */
  async ask<C extends object>(
    connection: C,
    request: (connection: C) => ObjectRequest,
    send: (request: ObjectRequest) => Promise<ObjectOutcome>,
    told?: (n: number) => void,
    reach?: Reach,
  ): Promise<Payload> {
    const state = this.#stateOn(connection);
    if (state.kind === 'broken' && reach === undefined) throw state.reason;
    const made = request(connection);
    // A watch concerns one instance, even for a stub that never breaks: the one that has answered earlier calls.
    const breaks = reach === undefined || made.op === 'watch';
    const { incarnation: last } = breaks ? state : reach;
    const outcome = await send(last === undefined ? made : { ...made, incarnation: last });
    const { incarnation, isBroken, isOwn, followed } = outcome;
    if (followed !== undefined) told?.(followed);
    const error = 'error' in outcome && fromWire(outcome.error);
    if (isBroken) {
      if (breaks) this.#state = { kind: 'broken', connection, reason: error };
    } else if (incarnation !== undefined && (reach || this.#stateOn(connection) === FREE)) {
      this.#state = { kind: 'bound', connection, incarnation };
    }
    if ('ok' in outcome) return outcome.ok;
    throw isBroken || isOwn ? error : remoteError(error);
  }

  /** Returns the state for this connection. A state that was reached on another connection is ignored. */
  #stateOn(connection: object): State {
    const state = this.#state;
    return state.kind !== 'free' && state.connection === connection ? state : FREE;
  }
}
