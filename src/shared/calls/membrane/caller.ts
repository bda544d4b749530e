// Makes the calls of one party's stubs. Arguments are serialized when the call is made, and the result is deserialized
// when it arrives. `Carry` transports the call.

import { storageError } from '../../contract/errors.ts';
import type { CallAddress, Payload } from '../../wire/address.ts';
import type { EntryEvent, ObjectRequest } from '../../wire/protocol.ts';
import { OutgoingRequest } from '../http/outgoing-request.ts';
import { withFixedHeaders } from '../http/overlay.ts';
import { abortedBy, withBody, withLocation, withoutBody } from '../http/response-parts.ts';
import type { Enter } from '../io/io-context.ts';
import type { Bond, Reach } from '../stubs/bond.ts';
import { type CallNote, withNote } from '../stubs/followed-calls.ts';
import type { Path } from '../stubs/invoke.ts';
import type { Party, PartyIo } from '../stubs/party.ts';
import { withCallers } from '../stubs/remote-error.ts';
import { disposeOf } from '../stubs/rpc-promise.ts';
import type { Callee, ObjectCaller } from '../stubs/stub.ts';
import { untilAborted } from '../stubs/with-signal.ts';
import { type Draft, discardDraft, type ReferenceChannel } from './channel.ts';
import { writeDraft } from './payload.ts';
import { checkDraftSize } from './payload-limit.ts';

/** A call that is ready to be transported. */
export interface OutgoingCall {
  readonly address: CallAddress;
  /** The instance that the stub has reached, which limits the instances that it may reach. */
  readonly bond: Bond;
  /** The instances that the call may reach, for a stub that never breaks; undefined for a stub that breaks. */
  readonly reach?: Reach | undefined;
  /** Makes the request for the channel that transports it. */
  readonly request: (channel: ReferenceChannel) => ObjectRequest;
  /** The signal that cancels the call. */
  readonly signal?: AbortSignal | undefined;
  /** False if the call runs no method of the object, and so cannot write. */
  readonly mayWrite: boolean;
  /** The code that watches the object. Present only for `watch`. */
  readonly watcher?: PartyIo;
  /** Receives the call's number in the queue of an object that follows another one. */
  readonly told?: ((n: number) => void) | undefined;
}

/** The result of a call, and the channel on which it arrived. */
export interface Answer {
  readonly payload: Payload;
  readonly channel: ReferenceChannel;
}

/** Transports calls in order. Rejects with the object's error, or with the reason why there is no answer. */
export type Carry = (call: OutgoingCall) => Promise<Answer>;

/** The most redirects that are followed, by the Fetch standard. */
const REDIRECTS_MAX = 20;

interface SendOptions {
  readonly mayWrite?: boolean;
  readonly isFetch?: boolean;
  readonly note?: CallNote | undefined;
  /** The values in the request, which are discarded if it is not sent. */
  readonly draft?: Draft;
}

export class PartyCaller implements ObjectCaller {
  readonly #party: Party;
  readonly #carry: Carry;
  readonly live?: ObjectCaller['live'];

  readonly follow?: ObjectCaller['follow'];

  /**
   * `live` makes live calls, `follow` asks objects that follow others. Each is undefined where such calls are not
   * possible.
   */
  constructor(
    party: Party,
    carry: Carry,
    live?: ObjectCaller['live'],
    follow?: ObjectCaller['follow'],
  ) {
    this.#party = party;
    this.#carry = carry;
    if (live !== undefined) this.live = live;
    if (follow !== undefined) this.follow = follow;
  }

  call(to: Callee, path: Path, parameters: unknown[]): Promise<unknown> {
    const { address, follows } = to;
    if (follows !== true || !('id' in address)) return this.#call(to, path, parameters);
    const note: CallNote = { address, ask: this.follow, n: undefined };
    return withNote(this.#call(to, path, parameters, note), note);
  }

  async #call(to: Callee, path: Path, parameters: unknown[], note?: CallNote): Promise<unknown> {
    to.signal?.throwIfAborted();
    const draft = checkDraftSize(writeDraft(parameters, this.#party));
    return this.#sendDraft(to, draft, (payload) => ({ op: 'call', path, payload }), { note });
  }

  async get(to: Callee, path: Path): Promise<unknown> {
    return this.#send(to, () => ({ op: 'get', path }), { mayWrite: false });
  }

  async run(to: Callee, handler: EntryEvent, parameters: unknown[]): Promise<unknown> {
    const draft = checkDraftSize(writeDraft(parameters, this.#party));
    return this.#sendDraft(to, draft, (payload) => ({ op: 'run', handler, payload }));
  }

  async watch(to: Callee): Promise<unknown> {
    const { address, bond } = to;
    const watcher = this.#party.io;
    const reach = watcher.reach?.();
    const release = watcher.retain();
    try {
      // The request is sent past the party's output gate, because the party's code does not wait for it.
      const request = () => ({ op: 'watch' }) as const;
      await this.#carry({ address, bond, reach, request, mayWrite: false, watcher });
      return storageError('INTERNAL', 'The object answered although it has not ended.');
    } catch (reason) {
      return reason;
    } finally {
      release();
    }
  }

  entrance(): Enter {
    return this.#party.io.entrance();
  }

  async fetch(
    to: Callee,
    input: Request | string | URL,
    init: RequestInit | undefined,
  ): Promise<Response> {
    let outgoing = new OutgoingRequest(input, init, to.signal);
    for (let redirects = 0; ; redirects++) {
      const response = await this.#fetchOnce(to, outgoing);
      const next = outgoing.redirectedBy(response);
      const { url, method } = outgoing.parts;
      if (next === null) {
        const answer =
          method === 'HEAD' ? withoutBody(response) : withBody(response, this.#party.gate);
        return withFixedHeaders(withLocation(answer, url, redirects > 0));
      }
      if (redirects === REDIRECTS_MAX) {
        throw new TypeError(
          `fetch: more than ${REDIRECTS_MAX} redirects, the last one from ${url}.`,
        );
      }
      response.body?.cancel().catch(() => {}); // the body of a redirect is not read
      outgoing = next;
    }
  }

  async #fetchOnce(to: Callee, outgoing: OutgoingRequest): Promise<Response> {
    const { signal } = outgoing.parts;
    signal?.throwIfAborted();
    const draft = writeDraft(outgoing, this.#party);
    const fetched = (payload: Payload) => ({ op: 'fetch', payload }) as const;
    const answer = this.#sendDraft(to, draft, fetched, { isFetch: true }) as Promise<Response>;
    return signal === null ? answer : this.#untilAborted(answer, signal);
  }

  // The caller rejects at once. The object gets the signal with its request, independently of this.
  async #untilAborted(answer: Promise<Response>, signal: AbortSignal): Promise<Response> {
    let abort = () => {};
    const aborted = new Promise<never>((_, reject) => {
      abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort);
    });
    try {
      return abortedBy(await Promise.race([answer, aborted]), signal, this.#party.gate);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #sendDraft(
    to: Callee,
    draft: Draft,
    request: (payload: Payload) => ObjectRequest,
    options?: Omit<SendOptions, 'draft'>,
  ): Promise<unknown> {
    return this.#send(to, (channel) => request(channel.send(draft)), { ...options, draft });
  }

  #send(to: Callee, request: OutgoingCall['request'], options: SendOptions = {}): Promise<unknown> {
    const { signal } = to;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const result = this.#ask(to, request, options);
    // A result that comes after the abort is disposed of, because no code receives its stubs.
    return signal === undefined ? result : untilAborted(result, signal, disposeOf);
  }

  async #ask(
    to: Callee,
    request: OutgoingCall['request'],
    { mayWrite = true, isFetch = false, note, draft }: SendOptions,
  ): Promise<unknown> {
    const party = this.#party;
    const reach = party.io.reach?.();
    let answer: Answer;
    try {
      const told = note && ((n: number) => (note.n = n));
      answer = await party.io.send(() => this.#carry({ ...to, reach, request, mayWrite, told }));
    } catch (error) {
      if (draft !== undefined) discardDraft(draft);
      // As on workerd, errors of `fetch` and of entry points name no object.
      throw withCallers(error, isFetch || !('id' in to.address) ? undefined : to.address.id);
    }
    return answer.channel.receiveAnswer(answer.payload, party);
  }
}
