// The WebSocket of object code and of its callers: workerd's server-side class.
//
// A socket is accepted before it is used. After `accept()` it fires events and keeps its object in memory.
// After `ctx.acceptWebSocket()` its messages are events of the object, which may be evicted in between.
// Members and errors follow workerd, which the differential tests run.
//
// Invariant: messages arrive in the order in which they were sent, each in a turn of its own; nothing is
// sent after a close.

import { deserialize } from '../../values/decode.ts';
import { serialize } from '../../values/encode.ts';
import { refuseToClone } from '../../values/object-kind.ts';
import { currentContext, runOutside } from '../io/current-context.ts';
import type { IoContext } from '../io/io-context.ts';
import { checkClose, closeEvent } from './close-event.ts';
import { type ReadyState, SocketEnd, type SocketEvent } from './socket-end.ts';

/** Largest serialized attachment, in bytes (workerd). */
const ATTACHMENT_BYTES_MAX = 16_384;

/** From this compatibility date on, binary messages arrive as Blobs by default (workerd). */
const BLOB_DATE = '2026-03-17';

/** From this compatibility date on, a close is answered before listeners hear of it (workerd). */
const ANSWER_DATE = '2026-04-07';

/** When a close of the other end is answered, unless a listener has done it. */
type Answers = 'first' | 'last' | 'never';

/** The class of binary messages that arrive. */
type BinaryType = 'arraybuffer' | 'blob';

/** Holds an open socket: an object, or (undefined) code that belongs to no object. */
type Owner = IoContext | undefined;

type Handler = ((event: Event) => void) | null;

type State =
  | { readonly kind: 'new' }
  | { readonly kind: 'accepted'; readonly owner: Owner; readonly release: () => void }
  | { readonly kind: 'hibernatable'; readonly owner: Owner };

/** Stays with the socket when its object is evicted. */
export interface Attachment {
  bytes: Uint8Array | undefined;
}

const HANDLERS = ['message', 'close', 'error', 'open'] as const;

/** The end of a socket and its attachment; undefined if the value is not a socket. */
export let socketParts: (
  socket: unknown,
) => { readonly end: SocketEnd; readonly attachment: Attachment } | undefined;

/** Makes the messages of the socket events of the object. */
export let hibernateSocket: (socket: WebSocket, owner: IoContext) => void;

export class WebSocket extends EventTarget {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  static readonly READY_STATE_CONNECTING = 0;
  static readonly READY_STATE_OPEN = 1;
  static readonly READY_STATE_CLOSING = 2;
  static readonly READY_STATE_CLOSED = 3;

  readonly url: string | null = null;
  readonly protocol = '';
  readonly extensions = '';
  readonly bufferedAmount = 0;
  /** The class of binary messages that listeners get. */
  binaryType: BinaryType;
  declare onmessage: Handler;
  declare onclose: Handler;
  declare onerror: Handler;
  declare onopen: Handler;
  readonly #end: SocketEnd;
  readonly #attachment: Attachment;
  readonly #listeners = new WeakMap<EventListenerOrEventListenerObject, EventListener>();
  #state: State = { kind: 'new' };
  #answers: Answers = 'last';
  /** A listener has thrown. */
  #hasFailed = false;
  /** A Blob is read before it is sent; later messages wait for it. */
  #sending: Promise<void> | undefined;

  /** For this package: user code gets sockets from `WebSocketPair` and from responses. */
  constructor(end: SocketEnd, attachment: Attachment = { bytes: undefined }) {
    super();
    const date = currentContext()?.compatibilityDate;
    this.binaryType = date !== undefined && date >= BLOB_DATE ? 'blob' : 'arraybuffer';
    this.#end = end;
    this.#attachment = attachment;
  }

  static {
    socketParts = (socket) => {
      if (typeof socket !== 'object' || socket === null || !(#end in socket)) return undefined;
      return { end: socket.#end, attachment: socket.#attachment };
    };
    hibernateSocket = (socket, owner) => {
      socket.#state = { kind: 'hibernatable', owner };
    };
  }

  /** As of every target. A listener that throws ends the connection, and its error is reported (workerd). */
  override addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void {
    super.addEventListener(type, listener && this.#guarded(listener), options);
  }

  override removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void {
    super.removeEventListener(type, listener && this.#guarded(listener), options);
  }

  /** The same function for the same listener, which is how a target recognizes it. */
  #guarded(listener: EventListenerOrEventListenerObject): EventListener {
    let guarded = this.#listeners.get(listener);
    if (guarded === undefined) {
      guarded = (event) => {
        try {
          if (typeof listener === 'function') listener.call(this, event);
          else listener.handleEvent(event);
        } catch (error) {
          this.#fail(error);
          throw error; // the target reports it
        }
      };
      this.#listeners.set(listener, guarded);
    }
    return guarded;
  }

  /** The other side loses the connection; listeners hear of the error, and of nothing after it. */
  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    if (!this.#end.isClosing) {
      this.#end.announceClose();
      const close = { type: 'close', code: 1006, reason: '', wasClean: false } as const;
      this.#leave(this.#mustBeAccepted(), '', () => this.#end.send(close));
    }
    const message = `Uncaught ${error}`;
    this.dispatchEvent(Object.assign(new Event('error'), { message, error }));
    this.#settle();
  }

  get readyState(): ReadyState {
    return this.#end.readyState;
  }

  get [Symbol.toStringTag](): string {
    return 'WebSocket';
  }

  /**
   * Starts firing events. `allowHalfOpen`: a close of the other end is not answered, so more can be sent before `close()`.
   *
   * @throws TypeError after `ctx.acceptWebSocket()`
   */
  accept(options?: { readonly allowHalfOpen?: boolean } | null): void {
    if (options !== undefined && Object(options) !== options && options !== null) {
      throw new TypeError(
        "Failed to execute 'accept' on 'WebSocket': parameter 1 is not of type 'AcceptOptions'.",
      );
    }
    if (this.#state.kind === 'hibernatable') {
      throw new TypeError("Can't accept() WebSocket after enabling hibernation.");
    }
    if (this.#state.kind === 'accepted') return;
    const owner = currentContext();
    if (options?.allowHalfOpen) this.#answers = 'never';
    else if ((owner?.compatibilityDate ?? '') >= ANSWER_DATE) this.#answers = 'first';
    // The open socket keeps its object in memory, and ends with it.
    const release = owner?.retain(() => this.#end.break()) ?? NOTHING;
    this.#state = { kind: 'accepted', owner, release };
    const enter = owner?.entrance() ?? enterOutside;
    // It rejects only when the object has ended, and with it the socket.
    this.#end.take((event) => void enter(() => this.#fire(event)).catch(NOTHING));
  }

  /**
   * Sends a string as text, buffers and Blobs as bytes, and any other value as `String(value)`. When the connection was
   * lost, it sends nothing.
   */
  send(...parameters: [message?: unknown]): void {
    if (parameters.length === 0) throw new TypeError('send: 1 argument needed, 0 given.');
    const owner = this.#mustBeAccepted();
    if (this.#end.isLost || this.#hasFailed) return;
    if (this.#end.isClosing) {
      throw new TypeError("Can't call WebSocket send() after close().");
    }
    const data = dataOf(parameters[0]);
    this.#leave(owner, data, (taken) => this.#end.send({ type: 'message', data: taken }));
  }

  /** Closes the socket; nothing can be sent afterwards. @throws InvalidAccessError, SyntaxError */
  close(code?: number, reason?: string): void {
    this.#mustBeAccepted();
    const checked = checkClose(code, reason);
    if (this.#end.isClosing) return;
    this.#leaveClose(checked.code, checked.reason);
    this.#settle();
  }

  /** Stores a value of at most 16,384 bytes with the socket, across evictions of its object. */
  serializeAttachment(value: unknown): void {
    const bytes = serialize(value);
    if (bytes.length > ATTACHMENT_BYTES_MAX) {
      throw new Error(
        `A WebSocket 'attachment' cannot be larger than ${ATTACHMENT_BYTES_MAX} bytes. ` +
          `'attachment' was ${bytes.length} bytes.`,
      );
    }
    this.#attachment.bytes = bytes;
  }

  /** The value attached last; null if there is none. */
  deserializeAttachment(): unknown {
    const { bytes } = this.#attachment;
    return bytes === undefined ? null : deserialize(bytes);
  }

  #mustBeAccepted(): Owner {
    if (this.#state.kind === 'new') {
      throw new TypeError(
        'You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending ' +
          'messages.',
      );
    }
    return this.#state.owner;
  }

  #leave(
    owner: Owner,
    data: string | ArrayBuffer | Promise<ArrayBuffer>,
    send: (data: string | ArrayBuffer) => void,
  ): void {
    if (this.#sending === undefined && !(data instanceof Promise)) {
      leave(owner, () => send(data));
      return;
    }
    const sending = Promise.all([data, this.#sending]).then(([taken]) => {
      leave(owner, () => send(taken));
      if (this.#sending === sending) this.#sending = undefined;
    });
    this.#sending = sending;
  }

  /** After the messages that were sent before. */
  #leaveClose(code: number, reason: string): void {
    this.#end.announceClose();
    const close = { type: 'close', code, reason, wasClean: true } as const;
    this.#leave(this.#mustBeAccepted(), '', () => this.#end.send(close));
  }

  #fire(event: SocketEvent): void {
    if (this.#hasFailed) {
      this.#settle();
      return;
    }
    if (event.type === 'message') {
      const { data } = event;
      const isBlob = this.binaryType === 'blob' && typeof data !== 'string';
      this.dispatchEvent(new MessageEvent('message', { data: isBlob ? new Blob([data]) : data }));
      return;
    }
    const { code, reason } = event;
    const answer = () => {
      if (!this.#end.isClosing) this.#leaveClose(code, reason);
    };
    this.#end.hearClose();
    if (this.#answers === 'first') answer();
    this.dispatchEvent(closeEvent(event));
    if (this.#answers === 'last') answer();
    this.#settle();
  }

  #settle(): void {
    if (this.#end.readyState === 3 && this.#state.kind === 'accepted') this.#state.release();
  }
}

// Instances have the constants too.
for (const name of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'] as const) {
  for (const constant of [name, `READY_STATE_${name}`] as const) {
    Object.defineProperty(WebSocket.prototype, constant, { value: WebSocket[constant] });
  }
}

// `onmessage`, `onclose`, `onerror`, `onopen`: each is one listener, which an assignment replaces.
for (const type of HANDLERS) {
  const handlers = new WeakMap<EventTarget, { listener: (event: Event) => void; given: Handler }>();
  Object.defineProperty(WebSocket.prototype, `on${type}`, {
    configurable: true,
    enumerable: true,
    get(this: WebSocket): Handler {
      return handlers.get(this)?.given ?? null;
    },
    set(this: WebSocket, given: Handler) {
      const before = handlers.get(this);
      if (before !== undefined) this.removeEventListener(type, before.listener);
      handlers.delete(this);
      if (typeof given !== 'function') return;
      const listener = (event: Event) => given.call(this, event);
      handlers.set(this, { listener, given });
      this.addEventListener(type, listener);
    },
  });
}

refuseToClone(WebSocket);

/** Two connected sockets, as properties 0 and 1. */
export class WebSocketPair implements Iterable<WebSocket> {
  declare readonly 0: WebSocket;
  declare readonly 1: WebSocket;
  declare readonly [Symbol.toStringTag]: string;

  constructor() {
    for (const [index, end] of SocketEnd.pair().entries()) {
      const value = new WebSocket(end);
      Object.defineProperty(this, index, { value, enumerable: true, configurable: true });
    }
  }

  [Symbol.iterator](): ArrayIterator<WebSocket> {
    return [this[0], this[1]].values();
  }
}

Object.defineProperty(WebSocketPair.prototype, Symbol.toStringTag, { value: 'WebSocketPair' });

const NOTHING = () => {};

/** Fires in a turn of its own, which belongs to no object. */
async function enterOutside(fire: () => void): Promise<void> {
  runOutside(() => void setTimeout(fire, 0));
}

/** Sends in order, once the object's earlier writes are durable. */
function leave(owner: Owner, send: () => void): void {
  if (owner === undefined) send();
  else void owner.send(send);
}

// Bytes are copied during the call.
function dataOf(message: unknown): string | ArrayBuffer | Promise<ArrayBuffer> {
  if (message instanceof ArrayBuffer) return message.slice(0);
  if (ArrayBuffer.isView(message)) {
    const { buffer, byteOffset, byteLength } = message;
    return new Uint8Array(buffer, byteOffset, byteLength).slice().buffer;
  }
  if (message instanceof Blob) return message.arrayBuffer();
  return String(message);
}
