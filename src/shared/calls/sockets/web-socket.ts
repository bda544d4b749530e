// Implements workerd's server-side WebSocket, for object code and its callers.
//
// A socket must be accepted before use. After `accept()` it fires events and keeps its object in memory. After
// `ctx.acceptWebSocket()` its messages are events of the object, which may be evicted in between. Differential tests
// compare members and errors with workerd.
//
// Invariant: messages arrive in the order in which they were sent, each in its own turn. Nothing is sent after a close.

import { deserialize } from '../../values/decode.ts';
import { serialize } from '../../values/encode.ts';
import { refuseToClone } from '../../values/object-kind.ts';
import { currentContext, runOutside } from '../io/current-context.ts';
import type { IoContext } from '../io/io-context.ts';
import { checkClose, closeEvent } from './close-event.ts';
import { type ReadyState, SocketEnd, type SocketEvent } from './socket-end.ts';

/** The most bytes of a serialized attachment, as in workerd. */
const ATTACHMENT_BYTES_MAX = 16_384;

/** From this compatibility date on, binary messages arrive as Blobs by default, as in workerd. */
const BLOB_DEFAULT_DATE = '2026-03-17';

/** From this compatibility date on, a close is answered before its event is fired, as in workerd. */
const ANSWER_CLOSE_FIRST_DATE = '2026-04-07';

/** When the other end's close is answered if no listener answers it: before its event, after its event, or never. */
type CloseAnswer = 'first' | 'last' | 'never';

/** The class of binary messages that arrive. */
type BinaryType = 'arraybuffer' | 'blob';

/** The context that holds an open socket; undefined for code that belongs to no object. */
type Owner = IoContext | undefined;

type Handler = ((event: Event) => void) | null;

type State =
  | { readonly kind: 'new' }
  | { readonly kind: 'accepted'; readonly owner: Owner; readonly release: () => void }
  | { readonly kind: 'hibernatable'; readonly owner: Owner };

/** The bytes that a program attaches to a socket. They survive the eviction of its object. */
export interface Attachment {
  bytes: Uint8Array | undefined;
}

const HANDLERS = ['message', 'close', 'error', 'open'] as const;

/** Returns the end and the attachment of a socket; undefined if the value is not a socket. */
export let socketParts: (
  socket: unknown,
) => { readonly end: SocketEnd; readonly attachment: Attachment } | undefined;

/** Turns the messages of the socket into events of the object. */
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
  #closeAnswer: CloseAnswer = 'last';
  /** True if a listener has thrown. */
  #hasFailed = false;
  /** Pending while a Blob is read before it is sent. Later messages wait for it. */
  #sending: Promise<void> | undefined;

  /** Internal. User code gets sockets from `WebSocketPair` and from responses. */
  constructor(end: SocketEnd, attachment: Attachment = { bytes: undefined }) {
    super();
    const date = currentContext()?.compatibilityDate;
    this.binaryType = date !== undefined && date >= BLOB_DEFAULT_DATE ? 'blob' : 'arraybuffer';
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

  /** Adds a listener. If it throws, the connection is closed and the error is reported, as in workerd. */
  override addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void {
    super.addEventListener(type, listener && this.#wrapListener(listener), options);
  }

  override removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void {
    super.removeEventListener(type, listener && this.#wrapListener(listener), options);
  }

  /** Wraps a listener, and returns the same wrapper for the same listener, so that it can be removed. */
  #wrapListener(listener: EventListenerOrEventListenerObject): EventListener {
    let wrapped = this.#listeners.get(listener);
    if (wrapped === undefined) {
      wrapped = (event) => {
        try {
          if (typeof listener === 'function') listener.call(this, event);
          else listener.handleEvent(event);
        } catch (error) {
          this.#fail(error);
          throw error; // EventTarget reports it
        }
      };
      this.#listeners.set(listener, wrapped);
    }
    return wrapped;
  }

  /** Breaks the connection after an error of a listener. Listeners get an error event, and no event after it. */
  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    if (!this.#end.isClosing) {
      this.#end.announceClose();
      const close = { type: 'close', code: 1006, reason: '', wasClean: false } as const;
      this.#sendInOrder(this.#mustBeAccepted(), '', () => this.#end.send(close));
    }
    const message = `Uncaught ${error}`;
    this.dispatchEvent(Object.assign(new Event('error'), { message, error }));
    this.#releaseIfClosed();
  }

  get readyState(): ReadyState {
    return this.#end.readyState;
  }

  get [Symbol.toStringTag](): string {
    return 'WebSocket';
  }

  /**
   * Starts firing events. With `allowHalfOpen`, the other end's close is not answered, so more can be sent before `close()`.
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
    if (options?.allowHalfOpen) this.#closeAnswer = 'never';
    else if ((owner?.compatibilityDate ?? '') >= ANSWER_CLOSE_FIRST_DATE)
      this.#closeAnswer = 'first';
    // An open socket keeps its object in memory, and breaks when the object ends.
    const release = owner?.retain(() => this.#end.break()) ?? doNothing;
    this.#state = { kind: 'accepted', owner, release };
    const enter = owner?.entrance() ?? enterOutside;
    // `enter` rejects only if the object has ended, which has broken the socket.
    this.#end.take((event) => void enter(() => this.#fire(event)).catch(doNothing));
  }

  /**
   * Sends a string as text, buffers and Blobs as bytes, and any other value as `String(value)`. Does nothing after the
   * connection was lost.
   */
  send(...parameters: [message?: unknown]): void {
    if (parameters.length === 0) throw new TypeError('send: 1 argument needed, 0 given.');
    const owner = this.#mustBeAccepted();
    if (this.#end.isLost || this.#hasFailed) return;
    if (this.#end.isClosing) {
      throw new TypeError("Can't call WebSocket send() after close().");
    }
    const data = dataOf(parameters[0]);
    this.#sendInOrder(owner, data, (taken) => this.#end.send({ type: 'message', data: taken }));
  }

  /** Closes the socket; nothing can be sent afterwards. @throws InvalidAccessError, SyntaxError */
  close(code?: number, reason?: string): void {
    this.#mustBeAccepted();
    const checked = checkClose(code, reason);
    if (this.#end.isClosing) return;
    this.#sendClose(checked.code, checked.reason);
    this.#releaseIfClosed();
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

  /** Returns the value that was attached last; null if there is none. */
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

  #sendInOrder(
    owner: Owner,
    data: string | ArrayBuffer | Promise<ArrayBuffer>,
    send: (data: string | ArrayBuffer) => void,
  ): void {
    if (this.#sending === undefined && !(data instanceof Promise)) {
      sendThroughGate(owner, () => send(data));
      return;
    }
    const sending = Promise.all([data, this.#sending]).then(([taken]) => {
      sendThroughGate(owner, () => send(taken));
      if (this.#sending === sending) this.#sending = undefined;
    });
    this.#sending = sending;
  }

  /** Sends the close, after earlier messages. */
  #sendClose(code: number, reason: string): void {
    this.#end.announceClose();
    const close = { type: 'close', code, reason, wasClean: true } as const;
    this.#sendInOrder(this.#mustBeAccepted(), '', () => this.#end.send(close));
  }

  #fire(event: SocketEvent): void {
    if (this.#hasFailed) {
      this.#releaseIfClosed();
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
      if (!this.#end.isClosing) this.#sendClose(code, reason);
    };
    this.#end.hearClose();
    if (this.#closeAnswer === 'first') answer();
    this.dispatchEvent(closeEvent(event));
    if (this.#closeAnswer === 'last') answer();
    this.#releaseIfClosed();
  }

  #releaseIfClosed(): void {
    if (this.#end.readyState === 3 && this.#state.kind === 'accepted') this.#state.release();
  }
}

// As in browsers, instances have the constants of the class, too.
for (const name of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'] as const) {
  for (const constant of [name, `READY_STATE_${name}`] as const) {
    Object.defineProperty(WebSocket.prototype, constant, { value: WebSocket[constant] });
  }
}

// This defines `onmessage`, `onclose`, `onerror` and `onopen`. An assignment replaces the earlier handler.
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

/** A pair of connected sockets, as properties 0 and 1. */
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

const doNothing = () => {};

/** Fires an event in its own turn, outside of any object. */
async function enterOutside(fire: () => void): Promise<void> {
  runOutside(() => void setTimeout(fire, 0));
}

/** Sends in order, after the object's earlier writes are durable. */
function sendThroughGate(owner: Owner, send: () => void): void {
  if (owner === undefined) send();
  else void owner.send(send);
}

/** Converts a message. Bytes are copied now, so that later changes are not sent. */
function dataOf(message: unknown): string | ArrayBuffer | Promise<ArrayBuffer> {
  if (message instanceof ArrayBuffer) return message.slice(0);
  if (ArrayBuffer.isView(message)) {
    const { buffer, byteOffset, byteLength } = message;
    return new Uint8Array(buffer, byteOffset, byteLength).slice().buffer;
  }
  if (message instanceof Blob) return message.arrayBuffer();
  return String(message);
}
