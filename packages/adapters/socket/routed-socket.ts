// A WebSocket with the browser's interface whose other end is the page's worker.
//
// Invariant: the events come in the order open, messages, close. If the worker answers without a socket, they are error
// and close. Like a socket over the network, it does not connect again. Connections are made by a function that it is
// given.

import { checkClose, closeEvent } from '@ctx-storage/core/calls';
import type { ObjectResponse, ObjectWebSocket } from '@ctx-storage/core/object';

/** The close code of a connection that was lost, or never made. */
const LOST_CODE = 1006;

const READY_STATES = { connecting: 0, open: 1, closing: 2, closed: 3 } as const;
const HANDLERS = ['open', 'message', 'error', 'close'] as const;

type State =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' | 'closing'; readonly socket: ObjectWebSocket }
  /** The socket was closed while it connected, so a connection that arrives is closed at once. */
  | { readonly kind: 'closing'; readonly socket: undefined }
  | { readonly kind: 'closed' };

export class RoutedSocket extends EventTarget {
  readonly url: string;
  readonly extensions = '';
  readonly bufferedAmount = 0;
  #protocol = '';
  #state: State = { kind: 'connecting' };
  #binaryType: BinaryType = 'blob';
  readonly #handlers = new Map<string, (event: Event) => void>();

  constructor(url: string, request: () => Promise<ObjectResponse>) {
    super();
    this.url = url;
    for (const type of HANDLERS) this.#addHandler(type);
    void this.#connect(request);
  }

  get readyState(): 0 | 1 | 2 | 3 {
    return READY_STATES[this.#state.kind];
  }

  get protocol(): string {
    return this.#protocol;
  }

  get binaryType(): BinaryType {
    return this.#binaryType;
  }

  set binaryType(type: BinaryType) {
    if (type !== 'blob' && type !== 'arraybuffer') return;
    this.#binaryType = type;
    if (this.#state.kind === 'open') this.#state.socket.binaryType = type;
  }

  get [Symbol.toStringTag](): string {
    return 'WebSocket';
  }

  /**
   * Sends a message. As in browsers, it is dropped after `close()`.
   *
   * @throws InvalidStateError before the event `open`
   */
  send(message: Parameters<ObjectWebSocket['send']>[0]): void {
    if (this.#state.kind === 'connecting') {
      throw new DOMException(
        'send: the socket still connects; wait for its event open.',
        'InvalidStateError',
      );
    }
    if (this.#state.kind === 'open') this.#state.socket.send(message);
  }

  /** Closes the socket. @throws InvalidAccessError, SyntaxError if the code or reason is not allowed */
  close(code?: number, reason?: string): void {
    checkClose(code, reason);
    if (this.#state.kind === 'connecting') {
      this.#state = { kind: 'closing', socket: undefined };
    } else if (this.#state.kind === 'open') {
      const { socket } = this.#state;
      this.#state = { kind: 'closing', socket };
      socket.close(code, reason);
    }
  }

  async #connect(request: () => Promise<ObjectResponse>): Promise<void> {
    try {
      const response = await request();
      const socket = response.webSocket;
      if (!socket)
        throw new Error(
          `WebSocket ${this.url}: the worker answered ${response.status} without a socket.`,
        );
      this.#open(socket, response.headers.get('sec-websocket-protocol') ?? '');
    } catch (error) {
      console.error(error);
      this.#fail();
    }
  }

  #open(socket: ObjectWebSocket, protocol: string): void {
    if (this.#state.kind !== 'connecting') {
      socket.accept();
      socket.close();
      this.#fail();
      return;
    }
    socket.binaryType = this.#binaryType;
    socket.addEventListener('message', ({ data }) => {
      this.dispatchEvent(new MessageEvent('message', { data, origin: new URL(this.url).origin }));
    });
    socket.addEventListener('close', (event) => this.#onClose(event));
    this.#protocol = protocol;
    this.#state = { kind: 'open', socket };
    socket.accept();
    this.dispatchEvent(new Event('open'));
  }

  #fail(): void {
    this.#state = { kind: 'closed' };
    this.dispatchEvent(new Event('error'));
    this.dispatchEvent(closeEvent({ code: LOST_CODE, reason: '', wasClean: false }));
  }

  #onClose({ code, reason, wasClean }: CloseEvent): void {
    this.#state = { kind: 'closed' };
    this.dispatchEvent(closeEvent({ code, reason, wasClean }));
  }

  /** Adds a property such as `onopen`. Each is one listener, which an assignment replaces. */
  #addHandler(type: (typeof HANDLERS)[number]): void {
    this.addEventListener(type, (event) => this.#handlers.get(type)?.call(this, event));
    Object.defineProperty(this, `on${type}`, {
      get: () => this.#handlers.get(type) ?? null,
      set: (given: unknown) => {
        if (typeof given === 'function') this.#handlers.set(type, given as (event: Event) => void);
        else this.#handlers.delete(type);
      },
    });
  }
}

for (const [name, value] of Object.entries(READY_STATES)) {
  Object.defineProperty(RoutedSocket.prototype, name.toUpperCase(), { value });
}
