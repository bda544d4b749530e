// A socket as object code and its callers have it: workerd's server-side WebSocket.
//
// It must be accepted before it is used: by `accept()`, then it fires events and keeps its object in
// memory; or by `ctx.acceptWebSocket()`, then its messages are events of the object, which may be
// evicted meanwhile. What it may be asked, and the errors, were settled by running workerd.
//
// Keeps true: messages arrive in the order they were sent, each in a turn of its own; nothing is
// sent after a close.

import { currentContext, runOutside } from '../io/current-context.ts';
import type { IoContext } from '../io/io-context.ts';
import { deserialize } from '../serializer/decode.ts';
import { serialize } from '../serializer/encode.ts';
import { refuseToClone } from '../serializer/object-kind.ts';
import { checkClose } from './close-arguments.ts';
import { closeEvent } from './close-event.ts';
import { type ReadyState, SocketEnd, type SocketEvent } from './socket-end.ts';

/** Largest serialized attachment, in bytes (workerd). */
const ATTACHMENT_BYTES_MAX = 16_384;

/** Code of this compatibility date and later gets binary messages as Blobs by default (workerd). */
const BLOB_DATE = '2026-03-17';

/** What binary messages arrive as. */
type BinaryType = 'arraybuffer' | 'blob';

/** Who holds an open socket: an object, or (undefined) code that belongs to none. */
type Owner = IoContext | undefined;

type Handler = ((event: Event) => void) | null;

type State =
  | { readonly kind: 'new' }
  | { readonly kind: 'accepted'; readonly owner: Owner; readonly release: () => void }
  | { readonly kind: 'hibernatable'; readonly owner: Owner };

/** What outlives the socket's object being evicted. */
export interface Attachment {
  bytes: Uint8Array | undefined;
}

const HANDLERS = ['message', 'close', 'error', 'open'] as const;

/** The end of a socket, and what is attached; undefined for anything else. */
export let socketParts: (
  socket: unknown,
) => { readonly end: SocketEnd; readonly attachment: Attachment } | undefined;

/** The object takes over its messages. */
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
  /** What binary messages arrive as, at a socket with listeners. */
  binaryType: BinaryType;
  declare onmessage: Handler;
  declare onclose: Handler;
  declare onerror: Handler;
  declare onopen: Handler;
  readonly #end: SocketEnd;
  readonly #attachment: Attachment;
  #state: State = { kind: 'new' };
  /** Blobs are read first; what follows waits. */
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

  get readyState(): ReadyState {
    return this.#end.readyState;
  }

  get [Symbol.toStringTag](): string {
    return 'WebSocket';
  }

  /** Begins to fire events. @throws TypeError after `ctx.acceptWebSocket()` */
  accept(): void {
    if (this.#state.kind === 'hibernatable') {
      throw new TypeError("Can't accept() WebSocket after enabling hibernation.");
    }
    if (this.#state.kind === 'accepted') return;
    const owner = currentContext();
    // The open socket keeps its object in memory, and ends with it.
    const release = owner?.retain(() => this.#end.break()) ?? NOTHING;
    this.#state = { kind: 'accepted', owner, release };
    const enter = owner?.entrance() ?? enterOutside;
    // The object has ended when it rejects, and its socket with it.
    this.#end.take((event) => void enter(() => this.#fire(event)).catch(NOTHING));
  }

  /** Strings go as text, buffers and blobs as bytes, everything else as its words. */
  send(...parameters: [message?: unknown]): void {
    if (parameters.length === 0) throw new TypeError('send: 1 argument needed, 0 given.');
    const owner = this.#mustBeAccepted();
    if (this.#end.isClosing) {
      throw new TypeError("Can't call WebSocket send() after close().");
    }
    const data = dataOf(parameters[0]);
    this.#leave(owner, data, (taken) => this.#end.send({ type: 'message', data: taken }));
  }

  /** Says goodbye; nothing may be sent after it. @throws InvalidAccessError, SyntaxError */
  close(code?: number, reason?: string): void {
    const owner = this.#mustBeAccepted();
    const checked = checkClose(code, reason);
    if (this.#end.isClosing) return;
    this.#end.announceClose();
    this.#leave(owner, '', () => this.#end.send({ type: 'close', ...checked, wasClean: true }));
    this.#settle();
  }

  /** Keeps a value of at most 16,384 bytes with the socket, across eviction of its object. */
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

  /** What was attached last; null when nothing was. */
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

  #fire(event: SocketEvent): void {
    if (event.type === 'message') {
      const { data } = event;
      const isBlob = this.binaryType === 'blob' && typeof data !== 'string';
      this.dispatchEvent(new MessageEvent('message', { data: isBlob ? new Blob([data]) : data }));
      return;
    }
    this.dispatchEvent(closeEvent(event));
    // A goodbye is answered, by the listener or else here.
    const { code, reason } = event;
    if (!this.#end.isClosing) this.#end.send({ type: 'close', code, reason, wasClean: true });
    this.#settle();
  }

  #settle(): void {
    if (this.#end.readyState === 3 && this.#state.kind === 'accepted') this.#state.release();
  }
}

// The states are there on every socket as well.
for (const name of ['CONNECTING', 'OPEN', 'CLOSING', 'CLOSED'] as const) {
  for (const constant of [name, `READY_STATE_${name}`] as const) {
    Object.defineProperty(WebSocket.prototype, constant, { value: WebSocket[constant] });
  }
}

// `onmessage` and the others, each a listener that can be replaced.
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

/** Two sockets that face each other, as properties 0 and 1. */
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

/** Fires in a turn of its own, which is no object's. */
async function enterOutside(fire: () => void): Promise<void> {
  runOutside(() => void setTimeout(fire, 0));
}

/** Sends behind what the object wrote, in order. */
function leave(owner: Owner, send: () => void): void {
  if (owner === undefined) send();
  else void owner.send(send);
}

// Bytes are taken as they are at the call.
function dataOf(message: unknown): string | ArrayBuffer | Promise<ArrayBuffer> {
  if (message instanceof ArrayBuffer) return message.slice(0);
  if (ArrayBuffer.isView(message)) {
    const { buffer, byteOffset, byteLength } = message;
    return new Uint8Array(buffer, byteOffset, byteLength).slice().buffer;
  }
  if (message instanceof Blob) return message.arrayBuffer();
  return String(message);
}
