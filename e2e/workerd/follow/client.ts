// A follower that a test drives, message by message.

import { decodeChanges } from '../../../packages/follow/changes/changes-bytes.ts';
import { FOLLOW_SUBPROTOCOL } from '../../../packages/follow/protocol/connection.ts';
import { decodeToFollower } from '../../../packages/follow/protocol/decode.ts';
import {
  FOLLOW_PROTOCOLS,
  type MessageToFollower,
  type NumberedOutcome,
  type Position,
} from '../../../packages/follow/protocol/messages.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';

/** A socket of workerd, of miniflare or of this package. */
export interface TalkSocket {
  binaryType?: string;
  accept(): void;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(): void;
  addEventListener(type: string, listener: (event: never) => void): void;
}

export interface FollowRoom {
  /** Sends a request to the object. */
  fetch(headers: Record<string, string>): Promise<{ readonly status: number; webSocket?: unknown }>;
  /** Calls a method of the object, as another object would. */
  call(method: string, ...args: unknown[]): Promise<unknown>;
}

/** How a connection ended: the code and the reason. */
type Closed = readonly [code: number, reason: string];

export class FollowClient {
  readonly closed: Promise<Closed>;
  /** Text messages. */
  readonly texts: string[] = [];
  readonly name: string;
  /** The names of the object's items, as of the last message. */
  items: readonly string[] = [];
  readonly #names = new Map<number, string>();
  position: Position | null = null;
  #ack = 0;
  readonly #socket: TalkSocket;
  readonly #received: (MessageToFollower | string)[] = [];
  #wake = () => {};
  #end: Closed | null = null;

  /** Connects as a user, with more headers. */
  static async connect(
    room: FollowRoom,
    name: string,
    user = name,
    more: Record<string, string> = {},
  ): Promise<FollowClient> {
    const headers = { upgrade: 'websocket', 'sec-websocket-protocol': FOLLOW_SUBPROTOCOL, user };
    const { status, webSocket } = await room.fetch({ ...headers, ...more });
    if (status !== 101) throw new Error(`Status ${status}`);
    return new FollowClient(webSocket as TalkSocket, name);
  }

  private constructor(socket: TalkSocket, name: string) {
    this.name = name;
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: MessageEvent) => {
      if (typeof data === 'string') this.texts.push(data);
      this.#received.push(
        typeof data === 'string' ? data : decodeToFollower(deserialize(new Uint8Array(data))),
      );
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      socket.addEventListener('close', ({ code, reason }: CloseEvent) => {
        this.#end = [code, reason];
        resolve(this.#end);
        this.#wake();
      });
    });
    socket.accept();
  }

  /** The next message, whose content is taken over. Fails if the connection ends before. */
  async next(): Promise<MessageToFollower | string> {
    while (this.#received.length === 0) {
      if (this.#end !== null) throw new Error(`Closed: ${this.#end}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const message = this.#received.shift()!;
    if (typeof message === 'string') return message;
    if (message.kind === 'part' || message.kind === 'cut') this.#apply(message.changes);
    if (message.kind === 'cut') this.position = message.to;
    if (message.kind === 'part' && message.copy.next !== null) {
      this.say({ kind: 'next', copy: message.copy, receipt: message.receipt });
    } else if ('receipt' in message && message.receipt !== null) {
      this.say({ kind: 'ack', ack: this.#ack, receipt: message.receipt });
    }
    return message;
  }

  #apply(changes: unknown): void {
    const { isWiped, tables } = decodeChanges(changes);
    if (isWiped) this.#names.clear();
    for (const { isWhole, rows, gone } of tables) {
      if (isWhole) this.#names.clear();
      for (const [rowid] of gone) this.#names.delete(Number(rowid));
      for (const [rowid, name] of rows) this.#names.set(Number(rowid), String(name));
    }
    this.items = [...this.#names].sort(([a], [b]) => a - b).map(([, name]) => name);
  }

  /** The next message that is of this kind; others before it are read. */
  async nextOf<Kind extends MessageToFollower['kind']>(
    kind: Kind,
  ): Promise<Extract<MessageToFollower, { kind: Kind }>> {
    for (;;) {
      const message = await this.next();
      if (typeof message === 'object' && message.kind === kind) return message as never;
    }
  }

  /** Reads on until the items are these. */
  async untilItems(...items: string[]): Promise<void> {
    while (String(this.items) !== String(items)) await this.next();
  }

  /** Reads on to the outcome of a call. */
  async outcome(n: number): Promise<NumberedOutcome[1]> {
    for (;;) {
      const message = await this.next();
      if (typeof message !== 'object' || !('outcomes' in message)) continue;
      const found = message.outcomes.find(([number]) => number === n);
      if (found !== undefined) return found[1];
    }
  }

  /** Takes over the rows that another connection of this follower has received. */
  take(other: FollowClient): void {
    for (const [rowid, name] of other.#names) this.#names.set(rowid, name);
  }

  /** Says hello; resolves when everything up to now has come. */
  async hello(more: Record<string, unknown> = {}): Promise<this> {
    const { name: client, position } = this;
    const own = { client, position, copy: null, ack: this.#ack };
    const hello = { kind: 'hello', protocol: FOLLOW_PROTOCOLS, ...own };
    this.say({ ...hello, ...more });
    await this.nextOf('welcome');
    return this;
  }

  call(n: number, method: string, args: unknown, again = false): void {
    const call = { kind: 'call', n, mark: n, method, args: serialize(args) };
    this.say({ ...call, again, ack: this.#ack });
  }

  /** Outcomes up to it are recorded. */
  acknowledge(n: number): void {
    this.#ack = n;
  }

  say(message: unknown): void {
    this.#socket.send(serialize(message));
  }

  send(data: string | Uint8Array<ArrayBuffer>): void {
    this.#socket.send(data);
  }

  close(): void {
    this.#socket.close();
  }
}
