// A WebSocket of an object that connects again when it is lost: with the leading tab, its worker, or the object's
// instance.
//
// Invariant: events come in the order open, messages, close, for each connection. A message is sent once, over one
// connection: those of a connection that was lost may have arrived or not.
//
// Does not know time, nor how a connection is made.

import { checkClose, closeEvent } from '@ctx-storage/core/calls';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import type { ObjectResponse, ObjectWebSocket } from '@ctx-storage/core/object';

/** Messages that wait for a connection, in bytes. */
const WAITING_BYTES_MAX = 1_048_576;

/** Requests that fail in a row, after which it gives up. */
const FAILURES_MAX = 10;

/** The pause before the second connection in a row without a message, which doubles, and the longest. */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5000;

/** The code of a lost connection. */
const LOST = 1006;

export type SocketMessage = string | ArrayBuffer | ArrayBufferView<ArrayBuffer>;

export interface ReconnectingEvents {
  /** Each connection has this event: tell the object here who is connected. Messages that waited follow. */
  readonly open: Event;
  readonly message: MessageEvent<string | ArrayBuffer | Blob>;
  /** Each connection ends with this event. `readyState` tells whether another one follows: 0, or 3 if not. */
  readonly close: CloseEvent;
  /** It gave up, for the reason in `error`. `close` follows. */
  readonly error: Event;
}

type State =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' | 'closing'; readonly socket: ObjectWebSocket }
  | { readonly kind: 'closed' };

const READY_STATES = { connecting: 0, open: 1, closing: 2, closed: 3 } as const;

export interface Reconnection {
  /** Asks the object for a socket. */
  readonly request: () => Promise<ObjectResponse>;
  /** Runs the task after the delay. */
  readonly after: (delayMs: number, task: () => void) => void;
}

export class ReconnectingSocket extends EventTarget {
  readonly #reconnection: Reconnection;
  #state: State = { kind: 'connecting' };
  /** Requests that failed since the last connection. */
  #failures = 0;
  /** Connections and requests that were lost since the last message: an object may end each connection at once. */
  #losses = 0;
  #waiting: SocketMessage[] = [];
  #waitingBytes = 0;
  #error: unknown = null;

  /** For this package: users call `reconnecting`. */
  constructor(reconnection: Reconnection) {
    super();
    this.#reconnection = reconnection;
    void this.#connect();
  }

  /** 0 connecting, also again; 1 open; 2 closing; 3 closed for good. */
  get readyState(): 0 | 1 | 2 | 3 {
    return READY_STATES[this.#state.kind];
  }

  /** Bytes of the messages that wait for a connection. */
  get bufferedAmount(): number {
    return this.#waitingBytes;
  }

  /** Why it gave up; null: it has not. */
  get error(): unknown {
    return this.#error;
  }

  /**
   * Sends the message, or lets it wait for the next connection: 1 MiB of messages at most.
   *
   * @throws StorageError `CONNECTION_CLOSED` if too many messages wait
   * @throws TypeError after `close()`, and when the socket is closed for good
   */
  send(message: SocketMessage): void {
    if (this.#state.kind === 'open') {
      this.#state.socket.send(message);
      return;
    }
    if (this.#state.kind !== 'connecting') {
      throw new TypeError("Can't call WebSocket send() after close().");
    }
    const copy = copyOf(message);
    const bytes =
      typeof copy === 'string' ? new TextEncoder().encode(copy).length : copy.byteLength;
    if (this.#waitingBytes + bytes > WAITING_BYTES_MAX) {
      throw storageError(
        'CONNECTION_CLOSED',
        `send: the socket connects again, and ${this.#waitingBytes} bytes of messages wait already; at most ` +
          `${WAITING_BYTES_MAX} do. Send it after the event \`open\`.`,
      );
    }
    this.#waiting.push(copy);
    this.#waitingBytes += bytes;
  }

  /** Closes it for good; messages that wait are not sent. @throws InvalidAccessError, SyntaxError */
  close(code?: number, reason?: string): void {
    checkClose(code, reason);
    this.#forgetWaiting();
    if (this.#state.kind === 'open') {
      const { socket } = this.#state;
      this.#state = { kind: 'closing', socket };
      socket.close(code, reason);
    } else if (this.#state.kind === 'connecting') {
      this.#state = { kind: 'closed' };
      this.#reconnection.after(0, () => this.#dispatchClose(LOST, '', false));
    }
  }

  declare addEventListener: <Type extends keyof ReconnectingEvents>(
    type: Type,
    listener: (event: ReconnectingEvents[Type]) => void,
    options?: boolean | AddEventListenerOptions,
  ) => void;

  declare removeEventListener: <Type extends keyof ReconnectingEvents>(
    type: Type,
    listener: (event: ReconnectingEvents[Type]) => void,
    options?: boolean | EventListenerOptions,
  ) => void;

  async #connect(): Promise<void> {
    let socket: ObjectWebSocket | null | undefined;
    try {
      const response = await this.#reconnection.request();
      socket = response.webSocket;
      if (!socket) throw notUpgraded(response.status);
    } catch (error) {
      if (this.#state.kind !== 'connecting') return;
      this.#failures += 1;
      const mayWork = isStorageError(error) && error.retryable && this.#failures < FAILURES_MAX;
      if (mayWork) this.#connectAgain();
      else this.#giveUp(error);
      return;
    }
    if (this.#state.kind === 'connecting') {
      this.#open(socket);
    } else {
      socket.accept();
      socket.close();
    }
  }

  #open(socket: ObjectWebSocket): void {
    socket.addEventListener('message', ({ data }) => {
      this.#losses = 0;
      this.dispatchEvent(new MessageEvent('message', { data }));
    });
    socket.addEventListener('close', (event) => this.#ended(event));
    socket.accept();
    this.#failures = 0;
    this.#state = { kind: 'open', socket };
    this.dispatchEvent(new Event('open'));
    const waiting = this.#waiting;
    this.#forgetWaiting();
    // A listener may have closed it.
    if (this.readyState === READY_STATES.open) for (const message of waiting) socket.send(message);
  }

  #ended({ code, reason, wasClean }: CloseEvent): void {
    const isLost = this.#state.kind === 'open' && code === LOST;
    this.#state = { kind: isLost ? 'connecting' : 'closed' };
    this.#dispatchClose(code, reason, wasClean);
    if (this.#state.kind === 'connecting') this.#connectAgain();
  }

  #connectAgain(): void {
    this.#losses += 1;
    const pauseMs = Math.min(PAUSE_MS * 2 ** (this.#losses - 2), PAUSE_MS_MAX);
    this.#reconnection.after(this.#losses === 1 ? 0 : pauseMs, () => {
      if (this.#state.kind === 'connecting') void this.#connect();
    });
  }

  #giveUp(error: unknown): void {
    this.#state = { kind: 'closed' };
    this.#error = error;
    this.#forgetWaiting();
    this.dispatchEvent(new Event('error'));
    this.#dispatchClose(LOST, '', false);
  }

  #dispatchClose(code: number, reason: string, wasClean: boolean): void {
    this.dispatchEvent(closeEvent({ code, reason, wasClean }));
  }

  #forgetWaiting(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}

function notUpgraded(status: number): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `reconnecting: the object answered ${status} without a socket; its fetch() returns ` +
      '`new Response(null, { status: 101, webSocket })`.',
  );
}

// Bytes are copied during the call.
function copyOf(message: SocketMessage): string | Uint8Array<ArrayBuffer> {
  if (typeof message === 'string') return message;
  if (message instanceof ArrayBuffer) return new Uint8Array(message.slice(0));
  const { buffer, byteOffset, byteLength } = message;
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}
