// One hostile follower: a connection that a strategy drives, and what it has learned from the server's messages.
//
// The messages are made as docs/internals/follow-protocol.md describes them, without the code of the server.

import type { Random } from '../../../../packages/testing/simulate/world/random.ts';
import { deserialize } from '../../../../src/shared/values/decode.ts';
import { serialize } from '../../../../src/shared/values/encode.ts';
import { type Frame, OPCODE, RawSocket } from './raw-socket.ts';

/** A message of the server, unchecked. */
interface FromServer {
  readonly kind?: string;
  readonly receipt?: number | null;
  readonly copy?: { readonly next: unknown };
  readonly to?: unknown;
  readonly last?: number;
  readonly received?: { readonly n: number };
}

export interface Strategy {
  readonly name: string;
  /** False if a connection begins without a hello. */
  readonly greets?: false;
  /** True if the follower reads what the server's messages say. */
  readonly listens?: true;
  /** True if all followers of the strategy have one identity. */
  readonly isOneIdentity?: true;
  /** How many followers have the strategy, compared with the others. @default 1 */
  readonly weight?: number;
  /** How long the server lets the follower follow, at the request of the follower's address. */
  readonly lifetimeMs?: (random: Random) => number;
  readonly step: (follower: HostileFollower, random: Random) => void;
}

export interface HostileOptions {
  readonly strategy: Strategy;
  readonly random: Random;
  readonly url: string;
  readonly identity: string;
  /** Counts the code with which a connection has ended. */
  closed(code: number): void;
}

/** Bytes that wait in a socket before its follower pauses: it must not fill the memory of its own process. */
const UNSENT_BYTES_MAX = 4 * 2 ** 20;

export class HostileFollower {
  readonly strategy: Strategy;
  readonly random: Random;
  /** Its own name as a client. */
  readonly name: string;
  readonly #options: HostileOptions;
  #socket: RawSocket | null = null;
  /** How many messages it has sent. */
  sent = 0;
  /** The number of its next call. */
  n = 1;
  /** The last number that the server has answered. */
  last = 0;
  /** The marks of the last part of a snapshot, and the position of the last cut. */
  copy: unknown = null;
  position: unknown = null;
  /** The receipts that the server has asked for, the newest last. */
  receipts: number[] = [];
  /** The stage of a strategy with several steps; 0 at the begin of a connection. */
  stage = 0;

  constructor(options: HostileOptions) {
    this.#options = options;
    this.strategy = options.strategy;
    this.random = options.random;
    this.name = `h-${options.random.uint32().toString(36)}-${options.random.uint32().toString(36)}`;
  }

  get isClosed(): boolean {
    return this.#socket === null;
  }

  /** True if the follower may act: its connection is open, and takes what it sends. */
  get canAct(): boolean {
    const socket = this.#socket;
    return socket?.isOpen === true && socket.unsentBytes < UNSENT_BYTES_MAX;
  }

  connect(): void {
    const { url, identity, strategy } = this.#options;
    const address = new URL(url);
    address.searchParams.set('user', identity);
    if (strategy.lifetimeMs !== undefined) {
      address.searchParams.set('lifetime', String(strategy.lifetimeMs(this.random)));
    }
    this.stage = 0;
    this.receipts = [];
    this.#socket = new RawSocket(address, 'ctx-storage-follow', {
      opened: () => {
        if (strategy.greets !== false) this.hello();
      },
      received: (data, opcode) => {
        if (strategy.listens && opcode === OPCODE.binary) this.#learn(data);
      },
      closed: (code) => {
        this.#socket = null;
        this.#options.closed(code);
      },
    });
  }

  #learn(data: Buffer): void {
    const message = deserialize(new Uint8Array(data)) as FromServer;
    if (message.kind === 'welcome') this.n = (message.received?.n ?? 0) + 1;
    if (message.kind === 'part') this.copy = message.copy;
    if (message.kind === 'cut') this.position = message.to;
    if (typeof message.last === 'number') this.last = message.last;
    if (typeof message.receipt === 'number') this.receipts.push(message.receipt);
    if (this.receipts.length > 100) this.receipts.shift();
  }

  hello(more: object = {}): void {
    const versions = { oldest: 2, newest: 2 };
    const none = { position: null, copy: null, ack: 0 };
    this.say({ kind: 'hello', protocol: versions, client: this.name, ...none, ...more });
  }

  /** A call with the next number. */
  call(method: string, args: unknown, more: object = {}): void {
    const mark = this.random.uint32();
    const call = { kind: 'call', n: this.n++, mark, method, args: serialize(args) };
    this.say({ ...call, again: false, ack: this.last, ...more });
  }

  /** Confirms the newest receipt, as a correct follower does. */
  confirm(): void {
    const receipt = this.receipts.pop();
    if (receipt !== undefined) this.say({ kind: 'ack', ack: this.last, receipt });
    this.receipts = [];
  }

  say(message: unknown): void {
    this.sendBytes(serialize(message));
  }

  sendBytes(bytes: Uint8Array | string, frame: Partial<Frame> = {}): void {
    this.sent += 1;
    const opcode = typeof bytes === 'string' ? OPCODE.text : OPCODE.binary;
    this.#socket?.send(bytes, { opcode, ...frame });
  }

  sendRaw(bytes: Uint8Array): void {
    this.sent += 1;
    this.#socket?.sendRaw(bytes);
  }

  stopReading(): void {
    this.#socket?.stopReading();
  }

  /** Ends the connection without a word. */
  leave(): void {
    this.#socket?.destroy();
  }
}
