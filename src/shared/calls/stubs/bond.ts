// Binds a stub to the instance it reached first. When that instance is reset, the stub rejects with the
// reason from then on, as on workerd; a new stub reaches the next instance.
//
// Invariant: a stub that was never used, or whose connection was lost, is bound to nothing. An eviction
// breaks no stub.

import type { Payload } from '../../wire/address.ts';
import { fromWire } from '../../wire/errors-on-wire.ts';
import type { ObjectOutcome, ObjectRequest } from '../../wire/protocol.ts';
import { remoteError } from './remote-error.ts';

type State =
  | { readonly kind: 'free' }
  | { readonly kind: 'bound'; readonly connection: object; readonly incarnation: number }
  | { readonly kind: 'broken'; readonly connection: object; readonly reason: unknown };

const FREE: State = { kind: 'free' };

export class Bond {
  #state: State = FREE;

  /**
   * Asks the object over this connection. `request` is made only if the stub is not broken. `told` gets the number of
   * the call in the queue of an object that follows another one.
   *
   * @throws the object's error, or the reason that the stub is broken
   */
  async ask<C extends object>(
    connection: C,
    request: (connection: C) => ObjectRequest,
    send: (request: ObjectRequest) => Promise<ObjectOutcome>,
    told?: (n: number) => void,
  ): Promise<Payload> {
    const state = this.#stateOn(connection);
    if (state.kind === 'broken') throw state.reason;
    const made = request(connection);
    const { incarnation } = { incarnation: undefined, ...state };
    const outcome = await send(incarnation === undefined ? made : { ...made, incarnation });
    if (outcome.followed !== undefined) told?.(outcome.followed);
    if ('ok' in outcome) {
      this.#bind(connection, outcome.incarnation);
      return outcome.ok;
    }
    const error = fromWire(outcome.error);
    if (outcome.isBroken !== true) {
      this.#bind(connection, outcome.incarnation);
      throw outcome.isOwn ? error : remoteError(error);
    }
    this.#state = { kind: 'broken', connection, reason: error };
    throw error;
  }

  #bind(connection: object, incarnation: number | undefined): void {
    if (incarnation === undefined || this.#stateOn(connection).kind !== 'free') return;
    this.#state = { kind: 'bound', connection, incarnation };
  }

  /** Facts of another connection do not count. */
  #stateOn(connection: object): State {
    const state = this.#state;
    return state.kind !== 'free' && state.connection === connection ? state : FREE;
  }
}
