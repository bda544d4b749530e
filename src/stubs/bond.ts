// What ties a stub to the instance it reached first. When that instance is reset, the stub rejects with
// the reason from then on, as in workerd; only a new stub reaches the next instance.
//
// Keeps true: a stub that was never used, or whose connection was lost, is tied to nothing. An eviction
// breaks no stub.
//
// Does not know how a call travels.

import { remoteError } from '../membrane/imports.ts';
import type { Channel } from '../membrane/references.ts';
import { fromWire } from '../rpc/errors-on-wire.ts';
import type { ObjectOutcome, ObjectRequest, Payload } from '../rpc/object-protocol.ts';

type State =
  | { readonly kind: 'free' }
  | { readonly kind: 'tied'; readonly channel: Channel; readonly incarnation: number }
  | { readonly kind: 'broken'; readonly channel: Channel; readonly reason: unknown };

export class Bond {
  #state: State = { kind: 'free' };

  /** Asks the object over the channel. @throws the object's error, or why the stub is broken */
  async ask(
    channel: Channel,
    request: (channel: Channel) => ObjectRequest,
    send: (request: ObjectRequest) => Promise<ObjectOutcome>,
  ): Promise<Payload> {
    const state = this.#on(channel);
    if (state.kind === 'broken') throw state.reason;
    const { incarnation } = { incarnation: undefined, ...state };
    const outcome = await send({
      ...request(channel),
      ...(incarnation !== undefined && { incarnation }),
    });
    if ('ok' in outcome) {
      this.#tie(channel, outcome.incarnation);
      return outcome.ok;
    }
    const error = fromWire(outcome.error);
    if (outcome.isBroken !== true) {
      this.#tie(channel, outcome.incarnation);
      throw remoteError(error);
    }
    this.#state = { kind: 'broken', channel, reason: error };
    throw error;
  }

  #tie(channel: Channel, incarnation: number | undefined): void {
    if (incarnation === undefined || this.#on(channel).kind !== 'free') return;
    this.#state = { kind: 'tied', channel, incarnation };
  }

  /** The state, as far as it is of this connection. */
  #on(channel: Channel): State {
    const state = this.#state;
    return state.kind !== 'free' && state.channel === channel ? state : { kind: 'free' };
  }
}
