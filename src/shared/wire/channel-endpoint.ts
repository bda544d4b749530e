// One end of a connection: the channel of a worker and the page that started it, a MessagePort to a worker
// that the app gave, or a BroadcastChannel that only these two have to another tab's. It names no type of
// comlink, which is bundled: the types of the package must not need it.
//
// A call and its answer are short arrays: a message costs more with each object and name in it, on both sides, and
// most calls do less than that. Messages of one turn travel together, in order: a message takes several times as
// long as most calls. A message with enough in it leaves at once, so that the other side works on it while this
// one goes on.
//
// Invariant: after close() posting does nothing. comlink posts a release message when its proxies are collected,
// which may be long after, and a closed BroadcastChannel would throw. Messages posted before close() are sent. A
// message that cannot be cloned fails its own call, and no other.
//
// Does not know: which functions there are, and their parameters.

import { type Outcome, toWire } from './errors-on-wire.ts';

/** The caller chooses the number, which comes back with the answer. */
export type CallMessage = readonly [number: number, name: string, parameters: readonly unknown[]];

export type AnswerMessage = readonly [number: number, answer: unknown];

/** A message that asks for an answer, which it gets also if no function has that name. */
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

/** How much a call or an answer has in it: one thing, or each of a list that it ends with. */
function partCount(message: unknown): number {
  const last = isAnswer(message) ? message[1] : parametersOf(message).at(-1);
  return Array.isArray(last) ? Math.max(last.length, 1) : 1;
}

/** Whom a message is for: a call's first parameter is its session or object. Answers are for one caller. */
function receiverOf(message: unknown): unknown {
  return parametersOf(message)[0];
}

function parametersOf(message: unknown): readonly unknown[] {
  return isRequest(message) ? (message as CallMessage)[2] : [];
}

/** The caller's side gets this for a call that could not be sent. No peer can send it: it is of a class. */
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
  /** `moved`: buffers of the message, which a BroadcastChannel copies and the others transfer. */
  postMessage(message: unknown, moved: ArrayBuffer[]): void;
  addEventListener(type: 'message' | 'messageerror', listener: (event: Event) => void): void;
  /** A port delivers nothing before. */
  start?(): void;
  close(): void;
}

/** When arrived messages are delivered, and posted messages are sent. */
export interface Pace {
  /** Delivers one of several messages that have arrived together; in order. */
  deliver(task: () => void): void;
  /** Sends the posted messages. */
  send(task: () => void): void;
}

/** Decides when messages that have arrived are delivered. */
export interface Admission {
  /** A message has arrived, maybe long before it is delivered. */
  arrived(message: unknown): void;
  /** Whether the next message may be delivered now. If not, it waits for `resume`. */
  admits(): boolean;
}

/** Several messages that travel as one. */
interface Pack {
  readonly type: 'pack';
  readonly messages: readonly unknown[];
}

/** Most messages of a pack, so that others' messages get their turn. */
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
  /** The receiver of the last posted messages, and how many parts in a row. */
  #receiver: unknown;
  #partsInRow = 0;
  /** Messages that wait for their delivery. */
  readonly #arrived: unknown[] = [];
  /** How many of them were not admitted when their turn came. */
  #heldCount = 0;
  /** Undefined: everything is admitted. */
  #admission: Admission | undefined;
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
    if (this.#isFullWith(message)) this.flush();
    else if (this.#posted.length === 1) this.#pace.send(() => this.flush());
  }

  addEventListener(type: 'message' | 'messageerror', listener: Listener): void {
    if (type === 'message') this.#listeners.add(listener);
    else this.#channel.addEventListener(type, listener);
  }

  /** Before any message arrives. */
  admitBy(admission: Admission): void {
    this.#admission = admission;
  }

  /** Messages are admitted again. */
  resume(): void {
    const count = this.#heldCount;
    this.#heldCount = 0;
    for (let i = 0; i < count; i++) this.#deliverLater();
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.#isClosed = true;
    this.#channel.close();
  }

  #isFullWith(message: unknown): boolean {
    // Such as a ping, which goes before a call when time has passed.
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

/** A worker, as its page has it, or the worker's own global scope. */
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
  // Whose message could not be read is not known.
  readonly #hearError = (event: Event) => this.#tell('messageerror', event);

  /** `name`: of this connection, on both sides, and of no other. */
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

  // Not dispatched as an event, which takes longer than the work of most calls.
  #tell(type: keyof Listeners, event: Event): void {
    for (const listener of this.#listeners[type]) listener(event);
  }

  #isNamed(data: unknown): data is NamedMessage {
    return Array.isArray(data) && data.length === 2 && data[0] === this.#name;
  }
}

const RESOLVED = Promise.resolve();

/**
 * As `queueMicrotask`, without a call of the browser: that takes 1 to 3 µs (Chromium 156), which is as long as a read.
 * The task must not throw.
 */
export function inMicrotask(task: () => void): void {
  void RESOLVED.then(task);
}
