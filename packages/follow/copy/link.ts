// The connection of a replica to its server: made, watched, and made again when it has ended.
//
// Invariant: there is one connection at a time. One that is silent for too long, although it was asked, has ended: a
// server that was reset may leave a socket open.
//
// Does not know what the messages mean.

import type { FollowState } from '@ctx-storage/core/contract';
import { FOLLOW_PING, FOLLOWER_CLOSE_CODES } from '../protocol/connection.ts';
import type { Replica, ReplicaEnd } from './replica.ts';

/** How long a server may be silent before it is asked, and how long it may take to answer (our choices). */
const SILENCE_MS = 25_000;
const ANSWER_MS = 10_000;
/** The pause before the next attempt, which doubles, and the longest. */
const PAUSE_MS = 200;
const PAUSE_MS_MAX = 30_000;

/** The part of a WebSocket that is used. */
export interface LinkSocket {
  binaryType: string;
  readonly readyState: number;
  send(data: Uint8Array | string): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: Event) => void): void;
}

export interface LinkEnvironment {
  /** Begins a connection. @throws if there can be none now */
  open(): Promise<LinkSocket>;
  /** Runs the task after the delay, in real time; the result cancels it. `keepsAlive`: a process waits for it. */
  afterRealTime(delayMs: number, task: () => void, keepsAlive: boolean): () => void;
  /** From 0 to 1. */
  random(): number;
  /** The server has refused a connection, for another reason than before. */
  refused(): void;
}

/** A server may refuse a follower now and take it later. */
const REFUSALS = [
  'NOT_AUTHORIZED',
  'TOO_MANY_FOLLOWERS',
] as const satisfies FollowState['reason'][];
const OPEN = 1;
const CLOSE_CODE = 1000;
const REASON_BYTES_MAX = 120;

export class FollowLink {
  readonly #replica: Replica;
  readonly #environment: LinkEnvironment;
  #socket: LinkSocket | undefined;
  #cancel: () => void = () => {};
  /** Ends the connection without its server: a socket may tell of its end much later, or never. */
  #giveUp: () => void = () => {};
  /** Attempts since a server was last heard. */
  #failures = 0;
  /** Connections that this side has ended: the server, or what is between, keeps no order. */
  #hangUps = 0;
  #isStopped = false;
  /** Why the server has refused the last connection; null: it has not. */
  refusal: (typeof REFUSALS)[number] | null = null;
  /** Undefined: a connection is there, or is being made. */
  #pausing: { readonly delayMs: number; readonly isKept: boolean } | undefined;

  constructor(replica: Replica, environment: LinkEnvironment) {
    this.#replica = replica;
    this.#environment = environment;
    void this.#connect();
  }

  /** Ends the connection, for good. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#socket?.close(CLOSE_CODE);
    this.#socket = undefined;
  }

  /** There are calls for the server now: if it waits for its next attempt, the process waits too. */
  needed(): void {
    if (this.#pausing === undefined || this.#pausing.isKept || this.#isStopped) return;
    this.#cancel();
    this.#pause(this.#pausing.delayMs);
  }

  /** The network has come back: the next attempt is made now. */
  online(): void {
    if (this.#pausing === undefined || this.#isStopped) return;
    this.#cancel();
    void this.#connect();
  }

  async #connect(): Promise<void> {
    this.#pausing = undefined;
    let socket: LinkSocket;
    try {
      socket = await this.#opening();
    } catch {
      return this.#later();
    }
    if (this.#isStopped) return abandon(socket);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    let replicaEnd: ReplicaEnd | undefined;
    const opened = () => {
      this.#watch(socket);
      replicaEnd = this.#replica.connected({
        send: (bytes) => {
          if (socket.readyState === OPEN) socket.send(bytes);
        },
        close: (reason) => {
          this.#hangUps += 1;
          this.#ended(socket);
          socket.close(CLOSE_CODE, reason.slice(0, REASON_BYTES_MAX).replaceAll(/[^ -~]/g, '?'));
        },
      });
    };
    socket.addEventListener('open', opened);
    socket.addEventListener('message', (event) => {
      if (this.#socket !== socket) return;
      this.#watch(socket);
      const { data } = event as MessageEvent<unknown>;
      if (!(data instanceof ArrayBuffer)) return;
      this.#failures = 0;
      this.refusal = null;
      replicaEnd!.received(new Uint8Array(data));
    });
    const closed = (event: Event) => {
      const { code } = event as Partial<CloseEvent>;
      const refusal = REFUSALS.find((reason) => FOLLOWER_CLOSE_CODES[reason] === code) ?? null;
      if (!this.#ended(socket)) return;
      replicaEnd?.closed(code === FOLLOWER_CLOSE_CODES.CLIENT_TAKEN);
      if (refusal === null || refusal === this.refusal) return;
      this.refusal = refusal;
      this.#environment.refused();
    };
    socket.addEventListener('close', closed);
    socket.addEventListener('error', closed);
    this.#giveUp = () => {
      if (this.#ended(socket)) replicaEnd?.closed();
      socket.close(CLOSE_CODE);
    };
    this.#watch(socket);
    if (socket.readyState === OPEN) opened();
  }

  /** @throws if no socket was made in time: the address may come from a server, which is silent */
  #opening(): Promise<LinkSocket> {
    const opening = this.#environment.open();
    return new Promise((resolve, reject) => {
      const late = () => {
        opening.then(abandon, () => {});
        reject(new Error('The socket was not made in time.'));
      };
      const waitMs = SILENCE_MS + ANSWER_MS;
      this.#cancel = this.#environment.afterRealTime(waitMs, late, this.#keepsAlive);
      opening.then(resolve, reject);
    });
  }

  /** Asks the server when it has been silent; then waits for anything. */
  #watch(socket: LinkSocket): void {
    const { afterRealTime } = this.#environment;
    this.#cancel();
    const silent = () => {
      if (socket.readyState === OPEN) socket.send(FOLLOW_PING);
      this.#cancel = afterRealTime(ANSWER_MS, () => this.#giveUp(), this.#keepsAlive);
    };
    this.#cancel = afterRealTime(SILENCE_MS, silent, this.#keepsAlive);
  }

  #pause(delayMs: number): void {
    const { afterRealTime } = this.#environment;
    const isKept = this.#keepsAlive;
    this.#cancel = afterRealTime(delayMs, () => void this.#connect(), isKept);
    this.#pausing = { delayMs, isKept };
  }

  /** A process of Node does not end while calls wait for the server. */
  get #keepsAlive(): boolean {
    return this.#replica.pending.length > 0;
  }

  /** False: it had ended before. */
  #ended(socket: LinkSocket): boolean {
    if (this.#socket !== socket) return false;
    this.#socket = undefined;
    this.#later();
    return true;
  }

  #later(): void {
    this.#cancel();
    if (this.#isStopped) return;
    const longest = Math.min(PAUSE_MS * 2 ** (this.#failures + this.#hangUps), PAUSE_MS_MAX);
    this.#failures += 1;
    this.#pause(longest * (0.5 + this.#environment.random() / 2));
  }
}

/** Closes a socket that nobody listens to. One of `ws` that is not open yet then has an error, which would end the process. */
function abandon(socket: LinkSocket): void {
  socket.addEventListener('error', () => {});
  socket.close(CLOSE_CODE);
}
