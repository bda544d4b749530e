// Hostile followers of an object that runs in this process, beside a friend: a copy that keeps to the protocol.
//
// Checks: the object keeps its instance; the friend gets the outcome of each of its calls, and nobody else does; its copy
// is equal in the end; no turn takes long; the heap does not grow; what strangers are sent is a message of the protocol.

import { readFileSync } from 'node:fs';
import { settled } from '../../../packages/follow/app/followed.ts';
import { follow } from '../../../packages/follow/copy/follow.ts';
import type { LinkSocket } from '../../../packages/follow/copy/link.ts';
import { decodeToFollower } from '../../../packages/follow/protocol/decode.ts';
import type { MessageToFollower } from '../../../packages/follow/protocol/messages.ts';
import {
  type FollowedServer,
  followedServer,
} from '../../../packages/follow/testing/followed-server.ts';
import type { Draws } from '../../../packages/testing/page/draws.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { MemoryMedium } from '../../../worker/engine/file/medium.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/in-process.ts';
import { type FollowerBytes, FollowerGrammar, type FollowerView } from './follower-grammar.ts';
import { PollutionWatch } from './pollution.ts';
import type { Surface } from './surface.ts';

const MESSAGES_PER_CASE = 100;
/** A connection may send this many messages a second. The clock of the server passes more time than that between two. */
const MESSAGES_PER_SECOND = 50;
const MESSAGE_INTERVAL_MS = 40;
/** The clients of the strangers, whose records the server keeps for ever. */
const CLIENTS = 40;
const CONNECTIONS_MAX = 30;
/** A turn handles a message or a few. */
const TURN_MS_MAX = 2000;
/** 1 KB of each connection that is forgotten nowhere is more than this after 50,000 messages. */
const HEAP_GROWTH_MAX = 6 * 2 ** 20;
/** The heap is measured after so many cases, because a full collection takes a tenth of a second. */
const CASES_PER_HEAP = 100;
/** All objects are in memory. */
const NO_HISTORY = { days: 0, bytes: 0 };
const TURNS_MAX = 100_000;
/** It is in every word of the friend, and nowhere else. */
const OF_FRIEND = 'of the friend';

const wasm = new Uint8Array(
  readFileSync(new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url)),
);

interface Storage {
  readonly kv: { get(key: string): unknown; put(key: string, value: unknown): void };
  sync(): Promise<void>;
}

/** An object with a bounded content, whatever its followers call. */
class Guarded extends (DurableObject as unknown as new (
  ctx: unknown,
  env: unknown,
) => { readonly ctx: { readonly storage: Storage } }) {
  /** Counts the calls of the friend, and returns its word, which is stored nowhere but in the outcome. */
  tell(word: string): string {
    const { kv } = this.ctx.storage;
    kv.put('told', Number(kv.get('told') ?? 0) + 1);
    return word;
  }

  keep(text: unknown, at: unknown): unknown {
    this.ctx.storage.kv.put(`kept ${Number(at) % 8}`, String(text).slice(0, 100));
    return at;
  }

  async slow(text: unknown): Promise<void> {
    this.keep(text, 0);
    await this.ctx.storage.sync();
    this.keep(text, 1);
  }

  refuse(text: unknown): never {
    throw new RangeError(`no ${String(text).slice(0, 100)}`);
  }

  large(): string {
    return 'x'.repeat(300_000);
  }

  fill(_: unknown, at: unknown): void {
    this.ctx.storage.kv.put('filled', new Uint8Array(100_000).fill(Number(at)));
  }

  read(): unknown {
    const { kv } = this.ctx.storage;
    return ['told', ...Array.from({ length: 8 }, (_, i) => `kept ${i}`)].map((key) => kv.get(key));
  }
}

/** The object of the server, which tells why it was ended. */
class Served extends Guarded {
  static readonly aborts: string[] = [];

  constructor(ctx: { abort(reason: string): void }, env: unknown) {
    const abort = ctx.abort.bind(ctx);
    const value = (reason: string) => {
      Served.aborts.push(reason);
      abort(reason);
    };
    Object.defineProperty(ctx, 'abort', { value });
    super(ctx, env);
  }
}

const METHODS = ['tell', 'keep', 'slow', 'refuse', 'large', 'fill'];

type Friend = Record<'tell' | 'read', (...args: unknown[]) => Promise<unknown>>;

export async function openFollowers(): Promise<Surface> {
  return FollowersSurface.open();
}

class FollowersSurface implements Surface {
  readonly casesPerSeed = 10;
  readonly #server: FollowedServer;
  readonly #friend: Friend;
  readonly #closeFriend: () => Promise<void>;
  readonly #clock: { nowMs: number };
  readonly #pollution = new PollutionWatch();
  readonly #strangers: Stranger[] = [];
  readonly #closes = new Map<string, number>();
  readonly #startMs = performance.now();
  #caseStart = process.cpuUsage();
  #words = 0;
  #cases = 0;
  #messages = 0;
  #longestTurnMs = 0;
  #firstHeap = 0;
  #lastHeap = 0;

  static async open(): Promise<FollowersSurface> {
    const clock = { nowMs: Date.now() };
    let followers = 0;
    const server = await followedServer(
      Served as never,
      {
        methods: METHODS,
        authorize: () => (followers++ === 0 ? 'friend' : 'stranger'),
        limits: { messagesPerSecond: MESSAGES_PER_SECOND },
      },
      { notesMax: 200, partBytes: 64 * 1024, history: NO_HISTORY },
      { now: () => clock.nowMs },
    );
    const following = { url: () => 'ws://server/', connect: () => server.connect(), version: 1 };
    const { env, close } = await createObjects(
      { Guarded: Guarded as never },
      {
        ...{ medium: new MemoryMedium(), wasm, history: NO_HISTORY },
        follow: follow({ Guarded: following }),
      },
    );
    const { Guarded: guarded } = env as unknown as { Guarded: { getByName(name: string): Friend } };
    const friend = guarded.getByName('a');
    const surface = new FollowersSurface(server, friend, close, clock);
    await surface.#askFriend();
    return surface;
  }

  private constructor(
    server: FollowedServer,
    friend: Friend,
    closeFriend: () => Promise<void>,
    clock: { nowMs: number },
  ) {
    this.#server = server;
    this.#friend = friend;
    this.#closeFriend = closeFriend;
    this.#clock = clock;
  }

  async attack(draws: Draws): Promise<string | undefined> {
    this.#caseStart = process.cpuUsage();
    const grammar = new FollowerGrammar(draws);
    const opened = await Promise.all(draws.times(1 + draws.below(3), () => this.#connect(draws)));
    const isClockStopped = draws.chance(0.05);
    for (let i = 0; i < MESSAGES_PER_CASE; i++) {
      const at = draws.below(opened.length);
      if (opened[at]!.isClosed) opened[at] = await this.#connect(draws);
      const stranger = opened[at]!;
      stranger.send(...grammar.next(stranger.view));
      this.#messages += 1;
      if (!isClockStopped) this.#clock.nowMs += MESSAGE_INTERVAL_MS / opened.length;
      if (draws.chance(0.5)) {
        const fault = await this.#turn();
        if (fault !== undefined) return fault;
      }
    }
    this.#clock.nowMs += 1000;
    for (const stranger of opened) {
      if (stranger.fault !== undefined) return stranger.fault;
      if (draws.chance(0.5)) stranger.close();
    }
    while (this.#strangers.length > CONNECTIONS_MAX) this.#strangers.shift()!.close();
    return (await this.#askFriend()) ?? this.#pollution.found() ?? this.#heapFault();
  }

  figures(): string {
    const perSecond = this.#messages / ((performance.now() - this.#startMs) / 1000);
    const closes = [...this.#closes].sort(([, a], [, b]) => b - a);
    const growth = (this.#lastHeap - this.#firstHeap) / 2 ** 20;
    return [
      `${this.#messages} messages, ${Math.round(perSecond)} a second`,
      `${this.#words} calls of the friend`,
      `longest turn ${this.#longestTurnMs.toFixed(0)} ms`,
      `buffers ${(process.memoryUsage().arrayBuffers / 2 ** 20).toFixed(0)} MiB`,
      `heap ${(this.#lastHeap / 2 ** 20).toFixed(1)} MiB, grown by ${growth.toFixed(1)} MiB`,
      `closed: ${closes.map(([reason, count]) => `${reason} ${count}`).join(', ')}`,
    ].join('; ');
  }

  async close(): Promise<void> {
    await this.#closeFriend();
    await this.#server.close();
  }

  async #connect(draws: Draws): Promise<Stranger> {
    const stranger = new Stranger(
      this.#server.connect(),
      `stranger-${draws.below(CLIENTS)}`,
      draws.chance(0.2),
    );
    const closed = (reason: string) =>
      this.#closes.set(reason, (this.#closes.get(reason) ?? 0) + 1);
    await stranger.opened(closed);
    this.#strangers.push(stranger);
    return stranger;
  }

  /** Lets the object handle what has come. */
  async #turn(): Promise<string | undefined> {
    const startMs = performance.now();
    await new Promise((resolve) => setImmediate(resolve));
    const tookMs = performance.now() - startMs;
    this.#longestTurnMs = Math.max(this.#longestTurnMs, tookMs);
    if (tookMs < TURN_MS_MAX) return undefined;
    // A machine that is busy may stretch a turn, but not the processor time.
    const { user, system } = process.cpuUsage(this.#caseStart);
    const usedMs = (user + system) / 1000;
    return usedMs < TURN_MS_MAX ? undefined : `one turn took ${Math.round(tookMs)} ms`;
  }

  /** The friend makes a call, and must get its outcome; no stranger may have it. */
  async #askFriend(): Promise<string | undefined> {
    const word = `word ${++this.#words} ${OF_FRIEND}`;
    let answer: unknown = null;
    settled(this.#friend.tell(word) as never).then(
      (value) => {
        answer = value;
      },
      (error) => {
        answer = `failed: ${String(error)}`;
      },
    );
    for (let turns = 0; answer === null && turns < TURNS_MAX; turns++) {
      const fault = await this.#turn();
      if (fault !== undefined) return fault;
    }
    if (answer !== word) return `the friend got ${String(answer)} for ${word}`;
    const [abort] = Served.aborts.splice(0);
    return abort === undefined ? undefined : `the object was ended: ${abort}`;
  }

  #heapFault(): string | undefined {
    this.#cases += 1;
    if (this.#cases % CASES_PER_HEAP !== 0) return undefined;
    globalThis.gc?.();
    this.#lastHeap = process.memoryUsage().heapUsed;
    this.#firstHeap ||= this.#lastHeap;
    const growth = this.#lastHeap - this.#firstHeap;
    return growth > HEAP_GROWTH_MAX ? `the heap has grown by ${growth} bytes` : undefined;
  }
}

/** A connection of somebody who may follow and does not keep to the protocol, with what it has been told. */
class Stranger {
  readonly #socket: LinkSocket;
  #view: FollowerView;
  isClosed = false;
  fault: string | undefined;

  constructor(socket: LinkSocket, client: string, isDeaf: boolean) {
    this.#socket = socket;
    const nothing = { n: 0, last: 0, position: null, copy: null, receipt: null };
    this.#view = { client, isGreeted: false, isDeaf, ...nothing };
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', (event) => {
      const { data } = event as MessageEvent<ArrayBuffer | string>;
      if (typeof data !== 'string') this.#hear(new Uint8Array(data));
    });
  }

  get view(): FollowerView {
    return this.#view;
  }

  /** Resolves when the connection is open; `closed` is called with the reason when the server ends it. */
  opened(closed: (reason: string) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.addEventListener('open', () => resolve());
      this.#socket.addEventListener('close', (event) => {
        const { code, reason } = event as CloseEvent;
        if (!this.isClosed) closed(reason || String(code));
        this.isClosed = true;
        resolve();
      });
    });
  }

  send(bytes: FollowerBytes, expected: Partial<FollowerView>): void {
    this.#view = { ...this.#view, ...expected };
    if (!this.isClosed) this.#socket.send(bytes);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#socket.close(1000);
  }

  #hear(bytes: Uint8Array): void {
    if (Buffer.from(bytes).includes(OF_FRIEND)) {
      this.fault = 'a stranger was told the outcome of the friend';
    }
    try {
      this.#take(decodeToFollower(deserialize(bytes)));
    } catch (error) {
      this.fault = `a stranger was sent no message of the protocol: ${String(error)}`;
    }
  }

  #take(message: MessageToFollower): void {
    const { kind } = message;
    const view = this.#view;
    if (kind === 'welcome') this.#view = { ...view, isGreeted: true, n: message.received.n };
    if (view.isDeaf) return;
    if (kind === 'part') this.#view = { ...view, copy: message.copy, receipt: message.receipt };
    if (kind === 'cut' || kind === 'ended') {
      const { last, receipt } = message;
      const position = kind === 'cut' ? message.to : view.position;
      const n = Math.max(view.n, last);
      this.#view = { ...view, last, n, copy: null, position, receipt: receipt ?? view.receipt };
    }
  }
}
