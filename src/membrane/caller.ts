// Calls of one party, whichever way they travel: arguments are written when the call is made, the
// result is read when it arrives.

import { located, OutgoingRequest, withSignal } from '../http/http-message.ts';
import type { ObjectRequest, Payload, WireAddress } from '../rpc/object-protocol.ts';
import type { Bond } from '../stubs/bond.ts';
import type { Party } from '../stubs/party.ts';
import type { Callee, ObjectCaller } from '../stubs/stub.ts';
import { type Draft, writeDraft } from './payload.ts';
import type { Channel } from './references.ts';

/** A call ready to travel. */
export interface OutgoingCall {
  readonly address: WireAddress;
  /** That of the stub. */
  readonly bond: Bond;
  /** The request, made when the channel it goes over is known. */
  readonly request: (channel: Channel) => ObjectRequest;
}

/** What came back, and over which channel. */
export interface Answer {
  readonly payload: Payload;
  readonly channel: Channel;
}

/** Carries calls in order. Rejects with the object's error, or why it is not known. */
export type Carry = (call: OutgoingCall) => Promise<Answer>;

/** As browsers have it. */
const REDIRECTS_MAX = 20;

export class PartyCaller implements ObjectCaller {
  readonly #party: Party;
  readonly #carry: Carry;

  constructor(party: Party, carry: Carry) {
    this.#party = party;
    this.#carry = carry;
  }

  async call(to: Callee, name: string, parameters: unknown[]): Promise<unknown> {
    const draft = writeDraft(parameters, this.#party);
    return this.#send(to, (channel) => ({
      op: 'call',
      member: name,
      payload: channel.send(draft),
    }));
  }

  async get(to: Callee, name: string): Promise<unknown> {
    return this.#send(to, () => ({ op: 'get', member: name }));
  }

  async fetch(
    to: Callee,
    input: Request | string | URL,
    init: RequestInit | undefined,
  ): Promise<Response> {
    let outgoing = new OutgoingRequest(input, init);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#fetchOnce(to, outgoing);
      const next = outgoing.redirected(response);
      if (next === null) return located(response, outgoing.parts.url, redirects > 0);
      if (redirects === REDIRECTS_MAX) {
        throw new TypeError(
          `fetch: more than ${REDIRECTS_MAX} redirects, the last one by ${outgoing.parts.url}.`,
        );
      }
      response.body?.cancel().catch(() => {}); // nobody reads it
      outgoing = next;
    }
  }

  async #fetchOnce(to: Callee, outgoing: OutgoingRequest): Promise<Response> {
    const { signal } = outgoing.parts;
    signal?.throwIfAborted();
    const draft = writeDraft(outgoing, this.#party);
    const answer = this.#send(to, fetchRequest(draft)) as Promise<Response>;
    return signal === null ? answer : this.#untilAborted(answer, signal);
  }

  // The object is told by the signal itself; the caller does not wait for it.
  async #untilAborted(answer: Promise<Response>, signal: AbortSignal): Promise<Response> {
    let abort = () => {};
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort);
    });
    try {
      return withSignal(await Promise.race([answer, aborted]), signal, this.#party);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async #send(to: Callee, request: OutgoingCall['request']): Promise<unknown> {
    const party = this.#party;
    const { payload, channel } = await party.io.send(() => this.#carry({ ...to, request }));
    return channel.receive(payload, party);
  }
}

function fetchRequest(draft: Draft): OutgoingCall['request'] {
  return (channel) => ({ op: 'fetch', payload: channel.send(draft) });
}
