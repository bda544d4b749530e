// The endpoint as comlink's wrap() sees it: its calls leave as call messages, and answers come back as
// the replies that it waits for.
//
// Invariant: an answer without a call, a second answer, and a message of any other shape are not
// passed on.

import type { Endpoint } from 'comlink';
import { eachOf } from '../contract/each-of.ts';
import { type CallMessage, isAnswer, UnsentCall } from './call-messages.ts';
import type { ChannelEndpoint } from './channel-endpoint.ts';

/** What wrap() posts for a call of a function with plain values. */
interface ComlinkCall {
  readonly id: string;
  readonly type: string;
  readonly path: readonly string[];
  readonly argumentList: readonly { readonly value: unknown }[];
}

export class CallingEndpoint implements Endpoint {
  readonly #endpoint: ChannelEndpoint;
  /** comlink's names of the calls that wait for an answer. */
  readonly #ids = new Map<number, string>();
  #lastNumber = 0;

  constructor(endpoint: ChannelEndpoint) {
    this.#endpoint = endpoint;
  }

  postMessage({ id, type, path, argumentList }: ComlinkCall, moved?: ArrayBuffer[]): void {
    // comlink posts RELEASE once its proxies are collected; a connection ends by a message of its own.
    if (type !== 'APPLY') return;
    this.#lastNumber += 1;
    this.#ids.set(this.#lastNumber, id);
    const parameters = eachOf(argumentList, ({ value }) => value);
    const message: CallMessage = [this.#lastNumber, path[0]!, parameters];
    this.#endpoint.postMessage(message, moved);
  }

  addEventListener(_type: 'message', listener: EventListenerOrEventListenerObject): void {
    const answered =
      typeof listener === 'function' ? listener : listener.handleEvent.bind(listener);
    this.#endpoint.addEventListener('message', (event) => {
      const reply = this.#replyOf((event as MessageEvent<unknown>).data);
      if (reply !== null) answered({ data: reply } as unknown as Event);
    });
  }

  /** Does nothing: wrap() listens as long as the connection lasts. */
  removeEventListener(): void {}

  /** comlink's reply, or null if no call waits for it. */
  #replyOf(message: unknown): object | null {
    if (message instanceof UnsentCall) {
      const thrown = { isError: false, value: message.cause };
      return this.#reply(message.number, { type: 'HANDLER', name: 'throw', value: thrown });
    }
    return isAnswer(message) ? this.#reply(message[0], { type: 'RAW', value: message[1] }) : null;
  }

  #reply(number: number, value: object): object | null {
    const id = this.#ids.get(number);
    this.#ids.delete(number);
    return id === undefined ? null : { id, ...value };
  }
}
