// Implements one end of a connection. Its channel is that between a worker and the page that started it, a MessagePort to
// a worker that the app passed, or a BroadcastChannel to another tab's worker, which only these two use. The file uses no
// type of comlink, because comlink is bundled, and the package's types must not depend on it.
//
// A call and its answer are short arrays: a message costs more with each object and name in it, on both sides, and
// most calls do less than that. Messages of one turn travel together, in order: a message takes several times as
// long as most calls. A message with enough in it leaves at once, so that the other side works on it while this
// one goes on.
//
// Invariant: after close() posting does nothing. comlink posts a release message when its proxies are collected,
// which may be long after, and a closed BroadcastChannel would throw. Messages posted before close() are sent. A
// message that cannot be cloned fails its own call, and no other. No assertion keeps this: late messages are the peer's
// or comlink's.
//
// This file does not know which functions exist, nor their parameters.

import { type Outcome, toWire } from './errors-on-wire.ts';

/** A call. The caller chooses its number, which the answer repeats. */
export type CallMessage = readonly [number: number, name: string, parameters: readonly unknown[]];

export type AnswerMessage = readonly [number: number, answer: unknown];

/** A message that requests an answer. It is answered even if no function has that name. */
export type Request = readonly [number: number, name: unknown, parameters: unknown];

export function isRequest(message: unknown): message is Request {
  return isNumbered(message, 3);
}

export function isAnswer(message: unknown): message is AnswerMessage {
  return isNumbered(message, 2);
}

function isNumbered(message: unknown, length: number): boolean {
  return Array.isArray(message) && message.length === length && typeof message[0] === 'number';
}

/** Returns the number of parts of a call or answer: the length of the list at its end, or 1 without a list. */
function partCount(message: unknown): number {
  const last = isAnswer(message) ? message[1] : parametersOf(message).at(-1);
  return Array.isArray(last) ? Math.max(last.length, 1) : 1;
}

/** Returns the receiver of a message: the first parameter of a call, which is its session or object. */
function receiverOf(message: unknown): unknown {
  return parametersOf(message)[0];
}

function parametersOf(message: unknown): readonly unknown[] {
  return isRequest(message) ? (message as CallMessage)[2] : [];
}

/** The answer to a call that could not be sent. It is a class instance, so no peer can send a false one. */
export class UnsentCall {
  readonly number: number;
  readonly cause: unknown;

  constructor(number: number, cause: unknown) {
    this.number = number;
    this.cause = cause;
  }
}

/** The common interface of a MessagePort, a BroadcastChannel and an OwnChannel. */
export interface WireChannel {
  /** Posts a message. `moved` are the message's buffers to transfer; a BroadcastChannel copies them. */
  postMessage(message: unknown, moved: ArrayBuffer[]): void;
  addEventListener(type: 'message' | 'messageerror', listener: (event: Event) => void): void;
  /** Starts the delivery of messages, which a MessagePort requires. */
  start?(): void;
  close(): void;
}

/** Decides when arrived messages are delivered, and when posted messages are sent. */
export interface Pace {
  /** Schedules the delivery of one message of a pack; tasks run in order. */
  deliver(task: () => void): void;
  /** Schedules the sending of posted messages. */
  send(task: () => void): void;
}

/** Decides whether arrived messages may be delivered yet. */
export interface Admission {
  /** Called when a message arrives, which may be long before its delivery. */
  arrived(message: unknown): void;
  /** Returns true if the next message may be delivered now. Otherwise it waits for `resume`. */
  admits(): boolean;
}

/** Several messages that are sent as one. */
interface Pack {
  readonly type: 'pack';
  readonly messages: readonly unknown[];
}

/** The most messages of a pack, so that messages of other pages do not wait long. */
export const PACK_MAX = 512;

/**
 * The number of consecutive parts for one receiver with which a message leaves before its turn ends: so many that each
 * part costs little of the message, and so few that neither side waits long for the other. Calls of many objects wait
 * for the end of the turn: the calls of each object arrive together, and the object is opened once for all of them.
 */
export const FULL_PARTS = 64;

/** The pace of code that may run at any time: it delivers messages at once. */
const AT_ONCE: Pace = {
  deliver: (task) => task(),
  // The second microtask runs after code that awaited the first one, so that the calls of a transaction's closure are
  // sent together with the transaction's beginning.
  send: (task) => inMicrotask(() => inMicrotask(task)),
};

type Listener = (event: Event) => void;

export class ChannelEndpoint {
  readonly #channel: WireChannel;
  readonly #pace: Pace;
  readonly #listeners = new Set<Listener>();
  #posted: unknown[] = [];
  /** The buffers to transfer, by message. */
  readonly #moved = new WeakMap<WeakKey, readonly ArrayBuffer[]>();
  /** The receiver of the last posted messages; the next field counts its parts in a row. */
  #receiver: unknown;
  #partsInRow = 0;
  /** The messages that wait for delivery. */
  readonly #arrived: unknown[] = [];
  /** The number of waiting messages that were refused when their turn came. */
  #heldCount = 0;
  /** Admits messages; undefined if all are admitted. */
  #admission: Admission | undefined;
  #isClosed = false;

  constructor(channel: WireChannel, pace: Pace = AT_ONCE) {
    this.#channel = channel;
    this.#pace = pace;
    channel.addEventListener('message', (event) => this.#receive(event as MessageEvent));
    channel.start?.();
  }

  /** Posts a message. `moved` are buffers that only this message uses. */
  postMessage(message: unknown, moved: readonly ArrayBuffer[] = []): void {
    if (this.#isClosed) return;
    this.#posted.push(message);
    if (moved.length > 0) this.#moved.set(message as WeakKey, moved);
    if (this.#isFullWith(message)) this.flush();
    else if (this.#posted.length === 1) this.#pace.send(() => this.flush());
  }

  addEventListener(type: 'message' | 'messageerror', listener: Listener): void {
    if (type === 'message') this.#listeners.add(listener);
    else this.#channel.addEventListener(type, listener);
  }

  /** Sets the admission. Call it before any message arrives. */
  admitBy(admission: Admission): void {
    this.#admission = admission;
  }

  /** Delivers the waiting messages that are admitted now. */
  resume(): void {
    const count = this.#heldCount;
    this.#heldCount = 0;
    for (let i = 0; i < count; i++) this.#deliverLater();
  }

  /** Closes the channel, after the messages posted before. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.#isClosed = true;
    this.#channel.close();
  }

  #isFullWith(message: unknown): boolean {
    // Messages that are not arrays, such as pings, do not count as parts.
    if (!Array.isArray(message)) return false;
    const receiver = receiverOf(message);
    if (receiver !== this.#receiver) this.#partsInRow = 0;
    this.#receiver = receiver;
    this.#partsInRow += partCount(message);
    return this.#partsInRow >= FULL_PARTS;
  }

  /** Sends the posted messages, without waiting for more. */
  flush(): void {
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

  // Handles a message that cannot be cloned. An error goes to the side that waits: this one for a call, the other one for
  // an answer.
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
    for (const message of isPack(data) ? data.messages : [data]) {
      this.#admission?.arrived(message);
      if (!isPack(data) && this.#arrived.length === 0 && this.#isAdmitted) {
        this.#deliver(message);
        return;
      }
      this.#arrived.push(message);
      this.#deliverLater();
    }
  }

  get #isAdmitted(): boolean {
    return this.#admission?.admits() !== false;
  }

  #deliverLater(): void {
    this.#pace.deliver(() => {
      if (this.#isAdmitted) this.#deliver(this.#arrived.shift());
      else this.#heldCount += 1;
    });
  }

  #deliver(data: unknown): void {
    if (this.#isClosed) return;
    const event = { data } as unknown as Event;
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        // An error is reported like that of an event listener, and the other listeners are still called.
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

/** The Worker object of a page, or the global scope of the worker itself. */
export interface ChannelHost {
  postMessage(message: unknown, moved?: ArrayBuffer[]): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
  removeEventListener(type: string, listener: (event: Event) => void): void;
}

type Listeners = Readonly<Record<'message' | 'messageerror', Set<(event: Event) => void>>>;

type NamedMessage = readonly [name: string, message: unknown];

/**
 * A connection over the channel that a worker has with the page that started it. A message port costs more: in
 * Firefox 153 its messages pass through another process, so that one there and back takes 200 to 700 µs instead of
 * 60 to 100, and one of 128 KiB 5 ms instead of 0.1; in Chromium 156 it is about 10 µs.
 *
 * The app may use the channel too: every message carries the connection's name, others are left alone, and listeners
 * that the app adds later do not hear messages of the connection.
 */
export class OwnChannel implements WireChannel {
  readonly #host: ChannelHost;
  readonly #name: string;
  readonly #listeners: Listeners = { message: new Set(), messageerror: new Set() };
  readonly #hear = (event: Event) => {
    const { data } = event as MessageEvent<unknown>;
    if (!this.#isNamed(data)) return;
    event.stopImmediatePropagation();
    this.#tell('message', { data: data[1] } as unknown as Event);
  };
  // A message that cannot be read does not show its connection, so every connection hears of it.
  readonly #hearError = (event: Event) => this.#tell('messageerror', event);

  /** `name` identifies the connection. Both sides use the same name. */
  constructor(host: ChannelHost, name: string) {
    this.#host = host;
    this.#name = name;
    host.addEventListener('message', this.#hear);
    host.addEventListener('messageerror', this.#hearError);
  }

  postMessage(message: unknown, moved: ArrayBuffer[] = []): void {
    const named: NamedMessage = [this.#name, message];
    this.#host.postMessage(named, moved);
  }

  addEventListener(type: keyof Listeners, listener: (event: Event) => void): void {
    this.#listeners[type].add(listener);
  }

  close(): void {
    this.#host.removeEventListener('message', this.#hear);
    this.#host.removeEventListener('messageerror', this.#hearError);
  }

  // The listeners are called directly, because dispatching an event takes longer than most calls.
  #tell(type: keyof Listeners, event: Event): void {
    for (const listener of this.#listeners[type]) listener(event);
  }

  #isNamed(data: unknown): data is NamedMessage {
    return Array.isArray(data) && data.length === 2 && data[0] === this.#name;
  }
}

const RESOLVED = Promise.resolve();

/**
 * Works like `queueMicrotask`, without calling the browser, which would take 1 to 3 µs in Chromium 156, as long as a read.
 * The task must not throw.
 */
export function inMicrotask(task: () => void): void {
  void RESOLVED.then(task);
}
