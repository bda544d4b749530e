// Connects a replica to its server, watches the connection, and connects again when it has ended.
//
// Invariants:
//   there is one connection at a time. A connection whose server answers no ping is given up, because a socket may stay open
//   after its server was reset
//   while an app listens, a connection is doubted long before it is given up: a slow network, which may need many seconds for
//   one message, must not be given up each time
// The first invariant is asserted. The second depends on a peer, so it cannot be.
//
// This file does not know what the messages mean.

import type { FollowState } from '@ctx-storage/core/contract';
import { assert } from '@ctx-storage/core/errors';
import { FOLLOW_PING, FOLLOWER_CLOSE_CODES } from '../protocol/connection.ts';
import type { ConnectionEvents, Replica } from './replica.ts';

/** After this long without a message, the server gets a ping (our choice). */
const SILENCE_MS = 25_000;
/** The connection to a server that does not answer a ping within this time is given up (our choice). */
const ANSWER_MS = 10_000;
/** While an app listens to the state, the server gets a ping after this long without a message (our choice). */
const WATCHED_SILENCE_MS = 3000;
/** If no message comes within this time after such a ping, the connection is doubted (our choice). */
const DOUBT_MS = 2000;
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
  /** Begins a connection. @throws if no connection is possible now */
  open(): Promise<LinkSocket>;
  /** Runs the task after a delay in real time; the result cancels it. With `keepsAlive`, a process of Node waits for it. */
  afterRealTime(delayMs: number, task: () => void, keepsAlive: boolean): () => void;
  /** Returns a random number from 0 to 1. */
  random(): number;
  /** Returns true while an app listens to the state of the copy. */
  isWatched(): boolean;
  /** Called when `refusal` or `isDoubted` has changed, unless the replica is told of the end of the connection. */
  changed(): void;
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
  /** The socket was requested, and is not there yet. */
  | { readonly kind: 'opening' }
  /** The socket was made; the server may not have accepted it yet. */
  | Connected
  /** The next attempt follows after a pause. If `keepsAlive` is true, a process of Node waits for it. */
  | { readonly kind: 'pausing'; readonly delayMs: number; readonly keepsAlive: boolean }
  | { readonly kind: 'stopped' };

interface Connected {
  readonly kind: 'connected';
  readonly socket: LinkSocket;
  /** Ends the connection, whose socket may be silent for ever. */
  readonly giveUp: () => void;
  /** True if pings are sent as early as an app that listens needs them. */
  isWatchedClosely: boolean;
  /** True if the server has not answered in time, so that the connection is probably lost. A message ends the doubt. */
  isDoubted: boolean;
  /** True if a ping was sent because the network has come back. */
  isAsked: boolean;
}

export class FollowLink {
  readonly #replica: Replica;
  readonly #environment: LinkEnvironment;
  #state: LinkState = { kind: 'opening' };
  /** Cancels the timer of the state: of the opening, of the server's silence, or of the pause. */
  #cancelTimer: () => void = () => {};
  /** How many attempts were made since the last message of a server. */
  #failures = 0;
  /** True if the present attempt was begun because the network had come back. */
  #isOnlineAttempt = false;
  /** How many connections this side has closed, because their messages broke the protocol. */
  #hangUps = 0;
  /** Counts the attempts. A changed count shows that an attempt was replaced. */
  #attempts = 0;
  /** The reason for which the server has refused the last connection; null if the server has not refused it. */
  refusal: (typeof REFUSALS)[number] | null = null;

  constructor(replica: Replica, environment: LinkEnvironment) {
    this.#replica = replica;
    this.#environment = environment;
    this.#begin();
  }

  /** Ends the connection, and never connects again. */
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

  /** True if the connection is probably lost. */
  get isDoubted(): boolean {
    return this.#state.kind === 'connected' && this.#state.isDoubted;
  }

  /**
   * Connects at once, because the network has come back: an attempt that was begun before may wait for ever. A
   * connection that seems to be alive is pinged, and replaced if the server does not answer in time. A network that
   * comes back again and again does not begin the same attempt anew each time, because then no attempt would ever end.
   */
  connectNow(): void {
    const state = this.#state;
    if (state.kind === 'stopped') return;
    const isConnected = state.kind === 'connected' && isOpen(state.socket);
    if (isConnected && !state.isDoubted) {
      if (state.isAsked) return;
      state.isAsked = true;
      this.#ask(state, DOUBT_MS, () => this.#replace());
    } else if (state.kind === 'pausing' || isConnected || !this.#isOnlineAttempt) this.#replace();
  }

  /** Pings the server at once if an app listens, because the network may be gone. */
  askNow(): void {
    const state = this.#state;
    if (state.kind !== 'connected' || !isOpen(state.socket)) return;
    if (state.isWatchedClosely && !state.isDoubted) this.#askClosely(state);
  }

  /** Pings the server early from now on, because an app has begun to listen. */
  watchClosely(): void {
    const state = this.#state;
    if (state.kind === 'connected' && !state.isWatchedClosely) this.#watch(state);
  }

  /** Ends the present attempt or connection, and connects without a pause. */
  #replace(): void {
    if (this.#state.kind === 'connected') this.#state.giveUp();
    this.#cancelTimer();
    this.#failures = 0; // The failures were those of the network before.
    this.#isOnlineAttempt = true;
    this.#begin();
  }

  /** Begins an attempt to connect. An error that no server causes ends the replica. */
  #begin(): void {
    this.#connect().catch((error) => this.#replica.fail(error));
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempts;
    this.#state = { kind: 'opening' };
    let socket: LinkSocket;
    try {
      socket = await this.#openInTime();
    } catch {
      if (attempt === this.#attempts) this.#retryLater();
      return;
    }
    if (this.#isStopped || attempt !== this.#attempts) return closeUnused(socket);
    assert(this.#state.kind === 'opening', 'a replica has two connections');
    let connectionEvents: ConnectionEvents | undefined;
    const giveUp = () => {
      if (this.#connectionEnded(socket)) connectionEvents?.closed();
      socket.close(CLOSE_CODE);
    };
    const state: Connected = {
      ...{ kind: 'connected', socket, giveUp },
      ...{ isWatchedClosely: false, isDoubted: false, isAsked: false },
    };
    this.#state = state;
    socket.binaryType = 'arraybuffer';
    const opened = () => {
      if (!this.#isPresent(socket)) return;
      this.#watch(state);
      connectionEvents = this.#replica.connected({
        send: (bytes) => {
          if (isOpen(socket)) socket.send(bytes);
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
      this.#watch(state);
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
      this.#environment.changed();
    };
    socket.addEventListener('close', closed);
    socket.addEventListener('error', closed);
    this.#watch(state);
    if (isOpen(socket)) opened();
  }

  /**
   * Opens a socket.
   *
   * @throws if opening takes too long: the app may ask a server for the address, and that server may be silent
   */
  #openInTime(): Promise<LinkSocket> {
    const opening = this.#environment.open();
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        opening.then(closeUnused, () => {});
        reject(new Error('The socket was not made in time.'));
      };
      this.#after(SILENCE_MS + ANSWER_MS, giveUp);
      opening.then(resolve, reject);
    });
  }

  /**
   * Waits for the next message. Sends a ping when the server was silent for too long, and gives the connection up if no
   * message comes: the socket's close event may come late or never.
   */
  #watch(state: Connected): void {
    const wasDoubted = state.isDoubted;
    state.isDoubted = false;
    state.isAsked = false;
    state.isWatchedClosely = isOpen(state.socket) && this.#environment.isWatched();
    const giveUpLater = () => this.#ask(state, ANSWER_MS, state.giveUp);
    if (state.isWatchedClosely) {
      this.#after(WATCHED_SILENCE_MS, () => {
        state.isWatchedClosely = this.#environment.isWatched();
        if (state.isWatchedClosely) this.#askClosely(state);
        else this.#after(SILENCE_MS - WATCHED_SILENCE_MS, giveUpLater);
      });
    } else this.#after(SILENCE_MS, giveUpLater);
    if (wasDoubted) this.#environment.changed();
  }

  /** Sends a ping, doubts the connection if no message comes, and gives it up after the usual time. */
  #askClosely(state: Connected): void {
    this.#ask(state, DOUBT_MS, () => {
      state.isDoubted = true;
      this.#after(SILENCE_MS + ANSWER_MS - WATCHED_SILENCE_MS - DOUBT_MS, state.giveUp);
      this.#environment.changed();
    });
  }

  /** Sends a ping, and runs the task if no message comes in time. */
  #ask({ socket }: Connected, delayMs: number, task: () => void): void {
    if (isOpen(socket)) socket.send(FOLLOW_PING);
    this.#after(delayMs, task);
  }

  /** Runs the task after the delay, and cancels the task that waits now. */
  #after(delayMs: number, task: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#environment.afterRealTime(delayMs, task, this.#keepsAlive);
  }

  #pause(delayMs: number): void {
    const keepsAlive = this.#keepsAlive;
    this.#after(delayMs, () => this.#begin());
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
    this.#isOnlineAttempt = false;
    this.#cancelTimer();
    if (this.#isStopped) return;
    const longest = Math.min(PAUSE_MS * 2 ** (this.#failures + this.#hangUps), PAUSE_MS_MAX);
    this.#failures += 1;
    this.#pause(longest * (0.5 + this.#environment.random() / 2));
  }
}

function isOpen({ readyState }: LinkSocket): boolean {
  return readyState === OPEN;
}

/** Closes an unused socket. Without a listener, the error that a socket of `ws` then reports would end the process. */
function closeUnused(socket: LinkSocket): void {
  socket.addEventListener('error', () => {});
  socket.close(CLOSE_CODE);
}
