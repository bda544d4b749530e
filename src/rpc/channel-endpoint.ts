// One end of a connection: the channel of a worker and the page that started it, a MessagePort to a worker
// that the app gave, or a BroadcastChannel that only these two have to another tab's. It names no type of
// comlink, which is bundled: the types of the package must not need it.
//
// What is posted in one turn travels together, in order: a message takes several times as long as what most
// calls do. A message with enough in it leaves at once, so that the other side works on it while this one
// goes on.
//
// Invariant: after close() posting does nothing. comlink posts a release message when its proxies
// are collected, which may be long after, and a closed BroadcastChannel would throw. What was posted
// before close() is sent. A message that cannot be cloned fails its own call, and no other.

import { inMicrotask } from '../contract/microtask.ts';
import {
  type AnswerMessage,
  isAnswer,
  isRequest,
  partCount,
  receiverOf,
  UnsentCall,
} from './call-messages.ts';
import { type Outcome, toWire } from './errors-on-wire.ts';

/** What a MessagePort, a BroadcastChannel and an OwnChannel have in common. */
export interface WireChannel {
  /** `moved`: buffers of the message, which a BroadcastChannel copies and the others transfer. */
  postMessage(message: unknown, moved: ArrayBuffer[]): void;
  addEventListener(type: 'message' | 'messageerror', listener: (event: Event) => void): void;
  /** A port delivers nothing before. */
  start?(): void;
  close(): void;
}

/** When what arrives together is delivered, and what is posted is sent. */
export interface Pace {
  /** Delivers one of several messages that have arrived together; in order. */
  deliver(task: () => void): void;
  /** Sends what was posted. */
  send(task: () => void): void;
}

/** Several messages that travel as one. */
interface Pack {
  readonly type: 'pack';
  readonly messages: readonly unknown[];
}

/** Most messages of a pack, so that what others send gets its turn. */
export const PACK_MAX = 512;

/**
 * Parts for one receiver in a row, with which a message leaves before its turn ends: enough that each costs
 * little of the message, and few enough that neither side waits long for the other. Calls of many objects
 * wait for the end of the turn: those of each object arrive together, and it is opened once for all of them.
 */
export const FULL_PARTS = 64;

/** For code that may run at any time. */
const AT_ONCE: Pace = {
  deliver: (task) => task(),
  // The second microtask comes after the calls of code that was waiting for the first: those of a
  // transaction's closure travel with its beginning.
  send: (task) => inMicrotask(() => inMicrotask(task)),
};

type Listener = (event: Event) => void;

export class ChannelEndpoint {
  readonly #channel: WireChannel;
  readonly #pace: Pace;
  readonly #listeners = new Set<Listener>();
  #posted: unknown[] = [];
  /** The buffers that move with a message, which is an object then. */
  readonly #moved = new WeakMap<WeakKey, readonly ArrayBuffer[]>();
  /** What was posted last was for this receiver, and so many parts in a row. */
  #receiver: unknown;
  #partsInRow = 0;
  /** Messages that wait for their delivery. */
  readonly #arrived: unknown[] = [];
  #isClosed = false;

  constructor(channel: WireChannel, pace: Pace = AT_ONCE) {
    this.#channel = channel;
    this.#pace = pace;
    channel.addEventListener('message', (event) => this.#receive(event as MessageEvent));
    channel.start?.();
  }

  /** `moved` are buffers of the message that only it has. */
  postMessage(message: unknown, moved: readonly ArrayBuffer[] = []): void {
    if (this.#isClosed) return;
    this.#posted.push(message);
    if (moved.length > 0) this.#moved.set(message as WeakKey, moved);
    if (this.#isFullWith(message)) this.#send();
    else if (this.#posted.length === 1) this.#pace.send(() => this.#send());
  }

  addEventListener(type: 'message' | 'messageerror', listener: Listener): void {
    if (type === 'message') this.#listeners.add(listener);
    else this.#channel.addEventListener(type, listener);
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#send();
    this.#isClosed = true;
    this.#channel.close();
  }

  #isFullWith(message: unknown): boolean {
    const receiver = receiverOf(message);
    if (receiver !== this.#receiver) this.#partsInRow = 0;
    this.#receiver = receiver;
    this.#partsInRow += partCount(message);
    return this.#partsInRow >= FULL_PARTS;
  }

  #send(): void {
    const posted = this.#posted;
    this.#posted = [];
    this.#partsInRow = 0;
    for (let first = 0; first < posted.length; first += PACK_MAX) {
      this.#sendTogether(posted.slice(first, first + PACK_MAX));
    }
  }

  #sendTogether(messages: readonly unknown[]): void {
    const pack: Pack = { type: 'pack', messages };
    const moved = messages.flatMap((message) => this.#moved.get(message as WeakKey) ?? []);
    try {
      this.#channel.postMessage(messages.length === 1 ? messages[0] : pack, moved);
    } catch (error) {
      if (messages.length === 1) this.#refuse(messages[0], error);
      else for (const message of messages) this.#sendTogether([message]);
    }
  }

  // The message cannot be cloned. Who waits for it is told: this side if it was a call, the other side if it
  // was an answer.
  #refuse(message: unknown, cause: unknown): void {
    if (isRequest(message)) {
      this.#deliver(new UnsentCall(message[0], cause));
    } else if (isAnswer(message)) {
      const outcome: Outcome = { error: toWire(cause) };
      this.#channel.postMessage([message[0], outcome] satisfies AnswerMessage, []);
    } else {
      throw cause;
    }
  }

  #receive({ data }: MessageEvent<unknown>): void {
    if (!isPack(data) && this.#arrived.length === 0) {
      this.#deliver(data);
      return;
    }
    const messages = isPack(data) ? data.messages : [data];
    this.#arrived.push(...messages);
    for (const _ of messages) this.#pace.deliver(() => this.#deliver(this.#arrived.shift()));
  }

  #deliver(data: unknown): void {
    if (this.#isClosed) return;
    const event = { data } as unknown as Event;
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // As a listener that throws: reported, and the others are called.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}

function isPack(data: unknown): data is Pack {
  if (typeof data !== 'object' || data === null) return false;
  const { type, messages } = data as Partial<Pack>;
  return type === 'pack' && Array.isArray(messages) && messages.length <= PACK_MAX;
}
