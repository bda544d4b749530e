// A WebSocket of an object that connects again after its connection is lost: when the leading tab closes, when its
// worker ends, or when the object is reset.
//
// Invariant: each connection has the events open, messages, close, in this order. A message is sent over one connection
// only; if that connection is lost, the message may have arrived or not. Timers and connections are given to the
// constructor.

import { checkClose, closeEvent } from '@ctx-storage/core/calls';
import { isStorageError, storageError } from '@ctx-storage/core/errors';
import type { ObjectResponse, ObjectWebSocket } from '@ctx-storage/core/object';

/** The most bytes of messages that wait for a connection. */
const WAITING_BYTES_MAX = 1_048_576;

/** The number of failed requests in a row after which the socket gives up. */
const FAILURES_MAX = 10;

/**
 * The pause before the second attempt in a row that brought no message. It doubles with each attempt, up to the second
 * number.
 */
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 5000;

/** The close code of a lost connection. */
const LOST_CODE = 1006;

export type SocketMessage = string | ArrayBuffer | ArrayBufferView<ArrayBuffer>;

export interface ReconnectingEvents {
  /** Fires for each connection. Tell the object here who is connected; messages that waited are sent afterwards. */
  readonly open: Event;
  readonly message: MessageEvent<string | ArrayBuffer | Blob>;
  /** Fires when a connection ends. `readyState` is 0 if another connection follows, and 3 if not. */
  readonly close: CloseEvent;
  /** Fires when the socket gives up, for the reason in its `error`. The event `close` follows. */
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
  /** The number of requests that failed since the last connection. */
  #failures = 0;
  /**
   * The number of lost connections and failed requests since the last message. An object may end each connection at
   * once.
   */
  #attemptsWithoutMessage = 0;
  #waiting: SocketMessage[] = [];
  #waitingBytes = 0;
  #error: unknown = null;

  /** Connects at once. Only this package calls the constructor; users call `reconnecting`. */
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

  /** Why the socket gave up; null while it has not. */
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
    const copy = copyMessage(message);
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
    this.#dropWaiting();
    if (this.#state.kind === 'open') {
      const { socket } = this.#state;
      this.#state = { kind: 'closing', socket };
      socket.close(code, reason);
    } else if (this.#state.kind === 'connecting') {
      this.#state = { kind: 'closed' };
      this.#reconnection.after(0, () => this.#dispatchClose(LOST_CODE, '', false));
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
      if (!socket) throw noSocketError(response.status);
    } catch (error) {
      if (this.#state.kind !== 'connecting') return;
      this.#failures += 1;
      const canRetry = isStorageError(error) && error.retryable && this.#failures < FAILURES_MAX;
      if (canRetry) this.#connectAgain();
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
      this.#attemptsWithoutMessage = 0;
      this.dispatchEvent(new MessageEvent('message', { data }));
    });
    socket.addEventListener('close', (event) => this.#onClose(event));
    socket.accept();
    this.#failures = 0;
    this.#state = { kind: 'open', socket };
    this.dispatchEvent(new Event('open'));
    const waiting = this.#waiting;
    this.#dropWaiting();
    // A listener of `open` may have closed the socket.
    if (this.readyState === READY_STATES.open) for (const message of waiting) socket.send(message);
  }

  #onClose({ code, reason, wasClean }: CloseEvent): void {
    const isLost = this.#state.kind === 'open' && code === LOST_CODE;
    this.#state = { kind: isLost ? 'connecting' : 'closed' };
    this.#dispatchClose(code, reason, wasClean);
    if (this.#state.kind === 'connecting') this.#connectAgain();
  }

  #connectAgain(): void {
    this.#attemptsWithoutMessage += 1;
    const pauseMs = Math.min(PAUSE_MS * 2 ** (this.#attemptsWithoutMessage - 2), PAUSE_MS_MAX);
    this.#reconnection.after(this.#attemptsWithoutMessage === 1 ? 0 : pauseMs, () => {
      if (this.#state.kind === 'connecting') void this.#connect();
    });
  }

  #giveUp(error: unknown): void {
    this.#state = { kind: 'closed' };
    this.#error = error;
    this.#dropWaiting();
    this.dispatchEvent(new Event('error'));
    this.#dispatchClose(LOST_CODE, '', false);
  }

  #dispatchClose(code: number, reason: string, wasClean: boolean): void {
    this.dispatchEvent(closeEvent({ code, reason, wasClean }));
  }

  #dropWaiting(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }
}

function noSocketError(status: number): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `reconnecting: the object answered ${status} without a socket; its fetch() returns ` +
      '`new Response(null, { status: 101, webSocket })`.',
  );
}

/** Copies a message, because the caller may write to its buffer while the message waits. */
function copyMessage(message: SocketMessage): string | Uint8Array<ArrayBuffer> {
  if (typeof message === 'string') return message;
  if (message instanceof ArrayBuffer) return new Uint8Array(message.slice(0));
  const { buffer, byteOffset, byteLength } = message;
  return new Uint8Array(buffer, byteOffset, byteLength).slice();
}
