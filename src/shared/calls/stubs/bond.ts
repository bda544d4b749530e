// Which instance of its object a stub has reached, and may reach.
//
// A stub of code in objects and Workers belongs to the instance that it reached first. When that is reset, the stub
// rejects with the reason from then on, as on workerd; a new stub reaches the next instance. A stub of a page or a
// program lives longer than any instance, so each of its calls has a reach of its own, and the stub never breaks.
//
// Invariant: a stub that was never used, or whose connection was lost, has reached nothing. An eviction breaks no stub.

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

/** Of a call by a stub that never breaks. */
export interface Reach {
  /** No later instance than this one. Absent: whichever there is when the call arrives. */
  readonly incarnation?: number;
}

export class Bond {
  #state: State = FREE;

  /**
   * Asks the object over this connection. `request` is made only if the stub is not broken. `told` gets the number of
   * the call in the queue of an object that follows another one. `reach`: of a stub that never breaks.
   *
   * @throws the object's error, or the reason that the stub is broken
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
    // Whoever watches wants to hear of the instance that has answered, such as to a subscription.
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

  /** Facts of another connection do not count. */
  #stateOn(connection: object): State {
    const state = this.#state;
    return state.kind !== 'free' && state.connection === connection ? state : FREE;
  }
}
