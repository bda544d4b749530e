// Connects a replica to its server, watches the connection, and connects again when it has ended.
//
// Invariant: there is one connection at a time. A connection whose server answers no ping is given up, because a socket may
// stay open after its server was reset.
//
// This file does not know what the messages mean.

import type { FollowState } from '@ctx-storage/core/contract';
import { FOLLOW_PING, FOLLOWER_CLOSE_CODES } from '../protocol/connection.ts';
import type { ConnectionEvents, Replica } from './replica.ts';

/** After this long without a message, the server gets a ping (our choice). */
const SILENCE_MS = 25_000;
/** A server that does not answer a ping within this time is given up (our choice). */
const ANSWER_MS = 10_000;
/** The pause before the next attempt. It doubles with each failure, up to `PAUSE_MS_MAX`. */
const PAUSE_MS = 200;
const PAUSE_MS_MAX = 30_000;

/** The members of a WebSocket that this package uses. */
export interface LinkSocket {
  binaryType: string;
  readonly readyState: number;
  send(data: Uint8Array | string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
}

export interface LinkEnvironment {
  /** Begins a connection. @throws if none is possible now */
  open(): Promise<LinkSocket>;
  /** Runs the task after a delay in real time; the result cancels it. With `keepsAlive`, a process of Node waits for it. */
  afterRealTime(delayMs: number, task: () => void, keepsAlive: boolean): () => void;
  /** Returns a random number from 0 to 1. */
  random(): number;
  /** Called when the server has refused a connection for another reason than before. */
  refused(): void;
}

/** The reasons for which a server may refuse a follower now and accept it later. */
const REFUSALS = [
  'NOT_AUTHORIZED',
  'ORIGIN_REFUSED',
  'TOO_MANY_FOLLOWERS',
] as const satisfies FollowState['reason'][];
const OPEN = 1;
const CLOSE_CODE = 1000;
const REASON_BYTES_MAX = 120;

type LinkState =
  /** The socket was asked for. */
  | { readonly kind: 'opening' }
  /** The socket was made; the server may not have accepted it yet. */
  | { readonly kind: 'connected'; readonly socket: LinkSocket }
  /** The next attempt follows after a pause. If `keepsAlive` is true, a process of Node waits for it. */
  | { readonly kind: 'pausing'; readonly delayMs: number; readonly keepsAlive: boolean }
  | { readonly kind: 'stopped' };

export class FollowLink {
  readonly #replica: Replica;
  readonly #environment: LinkEnvironment;
  #state: LinkState = { kind: 'opening' };
  /** Cancels the timer of the state: of the opening, of the server's silence, or of the pause. */
  #cancelTimer: () => void = () => {};
  /** How many attempts were made since the last message of a server. */
  #failures = 0;
  /** How many connections this side has closed, because their messages broke the protocol. */
  #hangUps = 0;
  /** The reason for which the server has refused the last connection; null if it has not. */
  refusal: (typeof REFUSALS)[number] | null = null;

  constructor(replica: Replica, environment: LinkEnvironment) {
    this.#replica = replica;
    this.#environment = environment;
    void this.#connect();
  }

  /** Ends the connection, and makes no other one. */
  stop(): void {
    const before = this.#state;
    this.#state = { kind: 'stopped' };
    this.#cancelTimer();
    if (before.kind === 'connected') before.socket.close(CLOSE_CODE);
  }

  /** Keeps a process of Node alive until the next attempt, because calls wait for the server now. */
  keepProcessAlive(): void {
    if (this.#state.kind !== 'pausing' || this.#state.keepsAlive) return;
    this.#cancelTimer();
    this.#pause(this.#state.delayMs);
  }

  /** Makes the next attempt at once, because the network has come back. */
  connectNow(): void {
    if (this.#state.kind !== 'pausing') return;
    this.#cancelTimer();
    void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#state = { kind: 'opening' };
    let socket: LinkSocket;
    try {
      socket = await this.#openInTime();
    } catch {
      return this.#retryLater();
    }
    if (this.#isStopped) return closeUnused(socket);
    this.#state = { kind: 'connected', socket };
    socket.binaryType = 'arraybuffer';
    let connectionEvents: ConnectionEvents | undefined;
    const giveUp = () => {
      if (this.#connectionEnded(socket)) connectionEvents?.closed();
      socket.close(CLOSE_CODE);
    };
    const opened = () => {
      this.#watch(socket, giveUp);
      connectionEvents = this.#replica.connected({
        send: (bytes) => {
          if (socket.readyState === OPEN) socket.send(bytes);
        },
        close: (reason) => {
          this.#hangUps += 1;
          this.#connectionEnded(socket);
          socket.close(CLOSE_CODE, reason.slice(0, REASON_BYTES_MAX).replaceAll(/[^ -~]/g, '?'));
        },
      });
    };
    socket.addEventListener('open', opened);
    socket.addEventListener('message', (event) => {
      if (!this.#isPresent(socket)) return;
      this.#watch(socket, giveUp);
      const { data } = event as MessageEvent<unknown>;
      if (!(data instanceof ArrayBuffer)) return;
      this.#failures = 0;
      this.refusal = null;
      connectionEvents!.received(new Uint8Array(data));
    });
    const closed = (event: Event) => {
      const { code } = event as Partial<CloseEvent>;
      const refusal = REFUSALS.find((reason) => FOLLOWER_CLOSE_CODES[reason] === code) ?? null;
      if (!this.#connectionEnded(socket)) return;
      connectionEvents?.closed(code === FOLLOWER_CLOSE_CODES.CLIENT_TAKEN);
      if (refusal === null || refusal === this.refusal) return;
      this.refusal = refusal;
      this.#environment.refused();
    };
    socket.addEventListener('close', closed);
    socket.addEventListener('error', closed);
    this.#watch(socket, giveUp);
    if (socket.readyState === OPEN) opened();
  }

  /**
   * Opens a socket.
   *
   * @throws if that takes too long: the app may ask a server for the address, which may be silent
   */
  #openInTime(): Promise<LinkSocket> {
    const opening = this.#environment.open();
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        opening.then(closeUnused, () => {});
        reject(new Error('The socket was not made in time.'));
      };
      const waitMs = SILENCE_MS + ANSWER_MS;
      this.#cancelTimer = this.#environment.afterRealTime(waitMs, giveUp, this.#keepsAlive);
      opening.then(resolve, reject);
    });
  }

  /**
   * Sends a ping when the server was silent for too long, and gives the connection up if nothing comes: the socket's close
   * event may come late or never.
   */
  #watch(socket: LinkSocket, giveUp: () => void): void {
    const { afterRealTime } = this.#environment;
    this.#cancelTimer();
    const silent = () => {
      if (socket.readyState === OPEN) socket.send(FOLLOW_PING);
      this.#cancelTimer = afterRealTime(ANSWER_MS, giveUp, this.#keepsAlive);
    };
    this.#cancelTimer = afterRealTime(SILENCE_MS, silent, this.#keepsAlive);
  }

  #pause(delayMs: number): void {
    const { afterRealTime } = this.#environment;
    const keepsAlive = this.#keepsAlive;
    this.#cancelTimer = afterRealTime(delayMs, () => void this.#connect(), keepsAlive);
    this.#state = { kind: 'pausing', delayMs, keepsAlive };
  }

  /** True if a process of Node must not end, because calls wait for the server. */
  get #keepsAlive(): boolean {
    return this.#replica.pending.length > 0;
  }

  get #isStopped(): boolean {
    return this.#state.kind === 'stopped';
  }

  #isPresent(socket: LinkSocket): boolean {
    return this.#state.kind === 'connected' && this.#state.socket === socket;
  }

  /** Plans the next attempt after the end of a connection. Returns false if that connection had ended before. */
  #connectionEnded(socket: LinkSocket): boolean {
    if (!this.#isPresent(socket)) return false;
    this.#retryLater();
    return true;
  }

  #retryLater(): void {
    this.#cancelTimer();
    if (this.#isStopped) return;
    const longest = Math.min(PAUSE_MS * 2 ** (this.#failures + this.#hangUps), PAUSE_MS_MAX);
    this.#failures += 1;
    this.#pause(longest * (0.5 + this.#environment.random() / 2));
  }
}

/** Closes an unused socket. Without a listener, the error that a socket of `ws` then reports would end the process. */
function closeUnused(socket: LinkSocket): void {
  socket.addEventListener('error', () => {});
  socket.close(CLOSE_CODE);
}
