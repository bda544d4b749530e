// For tests: messages that no page of this package sends, from a seed, at the worker's end of a
// connection. Whoever has a host drives it with these, in Node or in a browser.
//
// What must hold whatever comes: a message with an id gets exactly one reply, an outcome whose error
// has a code; one without gets none; no prototype changes; nothing is thrown where nobody catches; and
// the connection goes on to serve a page.
//
// A transaction is never begun, nor a goodbye said: both are what a page may do, and would change
// what the next message must get.

import { ChannelEndpoint } from './channel-endpoint.ts';
import { ClientHost, type WorkerHost } from './client-host.ts';

export interface HostileRun {
  readonly seed: number;
  /** How many messages. */
  readonly count: number;
  /** Reports what nobody caught in this thread until the result is called. */
  readonly watch: (report: (error: unknown) => void) => () => void;
  /** Objects of classes that messages may name, beside odd ones. */
  readonly addresses?: readonly unknown[];
}

export interface Violation {
  /** What was sent, in words; null when it is not one message's doing. */
  readonly message: string | null;
  readonly fact: string;
}

// Taken before a host in this thread replaces it by one that belongs to its objects.
const { setTimeout } = globalThis;

/** Messages in flight together. */
const CHUNK = 50;

/** Longest that replies are waited for, in turns of a timer. */
const TURNS_MAX = 1500;

/** Sends `count` messages to the host and gives back whatever must not happen. */
export async function sendHostileMessages(
  host: WorkerHost,
  { seed, count, watch, addresses = [] }: HostileRun,
): Promise<Violation[]> {
  const violations: Violation[] = [];
  const unwatch = watch((error) => violations.push({ message: null, fact: `Uncaught: ${error}` }));
  const peer = new Peer(host);
  const before = prototypes();
  const session = await peer.open();
  const generator = new MessageGenerator(new Random(seed), session, addresses);
  for (let sent = 0; sent < count; sent += CHUNK) {
    const size = Math.min(CHUNK, count - sent);
    const messages = Array.from({ length: size }, (_, i) => generator.next(`${seed}-${sent + i}`));
    for (const { message, fact } of await peer.send(messages)) {
      violations.push({ message: inWords(message), fact });
    }
    if (prototypes() !== before) {
      violations.push({ message: null, fact: 'A prototype of the language was changed.' });
      break;
    }
  }
  const fact = await peer.serves(session);
  if (fact !== null) violations.push({ message: null, fact });
  peer.close();
  unwatch();
  return violations;
}

/** A tab with other code than this package's, and the worker's end of its connection. */
class Peer {
  readonly #port: MessagePort;
  readonly #client: ClientHost;
  readonly #replies = new Map<string, unknown[]>();

  constructor(host: WorkerHost) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port2;
    port2.onmessage = ({ data }) => {
      if (typeof data?.id === 'string') this.#replies.set(data.id, [...this.#to(data.id), data]);
    };
    this.#client = new ClientHost(host, new ChannelEndpoint(port1));
  }

  /** @throws Error when a well-formed call gets no result */
  async open(): Promise<unknown> {
    const id = 'open';
    await this.#arrived([call(id, 'open', ['hostile'])]);
    const [reply] = this.#to(id);
    const result = field(field(reply, 'value'), 'ok');
    if (result === undefined) throw new Error('The host does not open an object.');
    return result;
  }

  /** What is wrong with the replies. */
  async send(messages: readonly unknown[]): Promise<{ message: unknown; fact: string }[]> {
    await this.#arrived(messages);
    return messages.flatMap((message) => {
      const id = field(message, 'id');
      if (typeof id !== 'string') return [];
      const replies = this.#to(id);
      this.#replies.delete(id);
      const fact = wrong(message, replies);
      return fact === null ? [] : [{ message, fact }];
    });
  }

  /** Why the connection does not serve a page any more, or null. */
  async serves(session: unknown): Promise<string | null> {
    const id = 'after';
    const entries = [['after', new Uint8Array([0xff, 0x0f, 0x30])]];
    const put = { op: 'put', entries, unconfirmed: false };
    await this.#arrived([call(id, 'execute', [session, [put, { op: 'get', keys: ['after'] }]])]);
    const outcomes = field(this.#to(id)[0], 'value');
    const kept = Array.isArray(outcomes) ? field(field(outcomes[1], 'ok'), '0') : undefined;
    return kept instanceof Uint8Array && kept.length === 3
      ? null
      : 'The connection serves no page.';
  }

  close(): void {
    this.#client.end();
    this.#port.close();
  }

  #to(id: string): unknown[] {
    return this.#replies.get(id) ?? [];
  }

  // Replies come in any order; one more turn shows a second reply.
  async #arrived(messages: readonly unknown[]): Promise<void> {
    const ids = messages.filter(isRequest).map((message) => field(message, 'id') as string);
    for (const message of messages) this.#port.postMessage(message);
    for (let turns = 0; turns < TURNS_MAX; turns++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (ids.every((id) => this.#replies.has(id))) return;
    }
  }
}

// What nobody must answer are replies to calls that were never made, and what names no call.
function isRequest(message: unknown): boolean {
  const type = field(message, 'type');
  return typeof field(message, 'id') === 'string' && type !== 'RAW' && type !== 'HANDLER';
}

function wrong(message: unknown, replies: readonly unknown[]): string | null {
  const expected = isRequest(message) ? 1 : 0;
  if (replies.length !== expected) return `${replies.length} replies, not ${expected}.`;
  if (expected === 0) return null;
  const value = field(replies[0], 'value');
  const path = field(message, 'path');
  const name = Array.isArray(path) && path.length === 1 ? path[0] : null;
  const isCall = field(message, 'type') === 'APPLY';
  // These two have no result.
  if (isCall && (name === 'close' || name === 'release') && value === undefined) return null;
  const outcomes = isCall && name === 'execute' && Array.isArray(value) ? value : [value];
  const bad = outcomes.find((outcome) => !isOutcome(outcome, isCall && isOfObject(name)));
  return bad === undefined && !outcomes.includes(undefined)
    ? null
    : `The reply is no outcome with a code: ${inWords(value)}`;
}

// What the object's own code throws has no code.
function isOfObject(name: unknown): boolean {
  return name === 'call' || name === 'ask';
}

function isOutcome(outcome: unknown, mayBeForeign: boolean): boolean {
  const keys = typeof outcome === 'object' && outcome !== null ? Object.keys(outcome) : [];
  if (keys.length !== 1) return false;
  if (keys[0] === 'ok') return field(outcome, 'ok') !== undefined;
  const error = field(outcome, 'error');
  if (typeof field(error, 'message') !== 'string') return false;
  return mayBeForeign || typeof field(field(error, 'properties'), 'code') === 'string';
}

class MessageGenerator {
  readonly #random: Random;
  readonly #session: unknown;
  readonly #addresses: readonly unknown[];

  constructor(random: Random, session: unknown, addresses: readonly unknown[]) {
    this.#random = random;
    this.#session = session;
    this.#addresses = [{ className: null, id: 'a'.repeat(64) }, ...addresses];
  }

  next(id: string): unknown {
    const random = this.#random;
    switch (random.below(8)) {
      case 0:
        return odd(random);
      case 1:
        return {
          id: random.chance(0.8) ? id : oddNumber(random),
          type: this.#type(),
          ...this.#rest(),
        };
      case 2:
        // What comlink's own expose() would do for whoever asks.
        return { id, type: this.#type(), path: this.#path(), ...this.#rest() };
      case 3:
        return {
          type: random.pick(['accepted', 'leads', 'connect', 7, null]),
          worker: odd(random),
        };
      default:
        return this.#mutatedCall(id);
    }
  }

  #type(): unknown {
    const { pick } = this.#random;
    return pick(['GET', 'SET', 'APPLY', 'CONSTRUCT', 'ENDPOINT', 'RELEASE', 'RAW', '', 5, null]);
  }

  #path(): unknown {
    return this.#random.pick<() => unknown>([
      () => ['__proto__', 'polluted'],
      () => ['constructor', 'prototype', 'polluted'],
      () => ['open', '__proto__', 'polluted'],
      () => ['open', 'constructor'],
      () => ['execute', 'call'],
      () => ['toString'],
      () => ['__proto__'],
      () => [],
      () => [['open']],
      () => new Array(100_000),
      () => 'open',
      () => odd(this.#random),
    ])();
  }

  #rest(): object {
    const random = this.#random;
    return {
      argumentList: random.pick<() => unknown>([
        () => [],
        () => [{ type: 'RAW', value: 'return globalThis' }],
        () => [{ type: 'HANDLER', name: 'proxy', value: odd(random) }],
        () => [{ type: 'HANDLER', name: 'throw', value: { isError: false, value: odd(random) } }],
        () => new Array(100_000),
        () => odd(random),
      ])(),
      value: { type: 'RAW', value: odd(random) },
    };
  }

  /** A call as a page makes it, with something of it replaced, added or taken away. */
  #mutatedCall(id: string): unknown {
    const random = this.#random;
    const name = random.pick(Object.keys(SAMPLES));
    const parameters = SAMPLES[name]!(this.#session, random.pick(this.#addresses), random);
    const mutations = random.below(4);
    let mutated: unknown = structuredClone(parameters);
    for (let i = 0; i < mutations; i++) mutated = mutate(mutated, random);
    if (!Array.isArray(mutated)) mutated = [mutated];
    return call(id, name, (mutated as unknown[]).slice(0, 10));
  }
}

function call(id: string, name: string, parameters: readonly unknown[]): object {
  const argumentList = parameters.map((value) => ({ type: 'RAW', value }));
  return { id, type: 'APPLY', path: [name], argumentList };
}

type Sample = (session: unknown, address: unknown, random: Random) => unknown[];

const BYTES = new Uint8Array([0xff, 0x0f, 0x30]);

/** Deleted again and again; that of an object which is being called is another question. */
const NOBODY = { className: null, id: 'f'.repeat(64) };

const SAMPLES: Readonly<Record<string, Sample>> = {
  open: (_session, address, { pick }) => [pick([address, 'hostile', 'other'])],
  execute: (session, _address, random) => [
    session,
    Array.from({ length: 1 + random.below(3) }, () => random.pick(CALLS)),
  ],
  close: (_session, _address, { below }) => [1_000_000 + below(10)],
  classes: () => [],
  call: (_session, address, { pick }) => [
    address,
    pick([
      { op: 'call', member: 'echo', payload: BYTES },
      { op: 'get', member: 'echo' },
      { op: 'fetch', payload: BYTES },
    ]),
  ],
  manage: (_session, _address, { pick }) => [
    pick([
      { op: 'list', className: 'Room' },
      { op: 'delete', address: NOBODY },
      { op: 'now' },
      { op: 'resume' },
    ]),
  ],
  ask: (_session, _address, { pick }) => [
    1,
    pick([
      { op: 'call', member: null, payload: BYTES },
      { op: 'get', member: 'x' },
      { op: 'pull' },
      { op: 'write', payload: BYTES },
    ]),
  ],
  release: () => [[1, 2]],
};

const RANGE = { start: new Uint8Array(0), end: null, reverse: false, limit: null };

const CALLS: readonly object[] = [
  { op: 'get', keys: ['a', 'b'] },
  { op: 'put', entries: [['a', BYTES]], unconfirmed: false },
  { op: 'delete', keys: ['a'], unconfirmed: true },
  { op: 'list', range: RANGE },
  { op: 'getAlarm' },
  { op: 'setAlarm', timeMs: 9_000_000_000_000, unconfirmed: false },
  { op: 'deleteAlarm', unconfirmed: false },
  { op: 'sync' },
  { op: 'exec', query: 'SELECT ?', bindings: [1], rowCount: 100 },
  { op: 'exec', query: 'VALUES (1), (2), (3)', bindings: [], rowCount: 1 },
  { op: 'rows', cursor: 3, rowCount: 1000 },
  { op: 'closeCursor', cursor: 3 },
  { op: 'databaseSize' },
  { op: 'commit', txn: 3 },
  { op: 'rollback', txn: 3 },
  { op: 'currentBookmark' },
  { op: 'bookmarkForTime', timeMs: 1 },
  { op: 'restoreBookmark', bookmark: 'x' },
  { op: 'importDatabase', database: BYTES, wal: null },
  { op: 'abort', reason: 'hostile' },
  { op: 'toString' },
  { op: '__proto__' },
];

/** Replaces a random part of the value, or puts one in. */
function mutate(value: unknown, random: Random): unknown {
  const isBranch = typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);
  if (!isBranch || random.chance(0.2)) return odd(random);
  const keys = Object.keys(value);
  const key = keys.length === 0 || random.chance(0.1) ? 'extra' : random.pick(keys);
  if (random.chance(0.15)) Reflect.deleteProperty(value, key);
  else Reflect.set(value, key, mutate(Reflect.get(value, key), random));
  return value;
}

/** Anything that structured clone takes, of no shape that is expected. */
function odd(random: Random): unknown {
  return random.pick<() => unknown>([
    () => null,
    () => undefined,
    () => true,
    () => oddNumber(random),
    () => random.pick(['', 'x', '__proto__', 'constructor', '\ud800', 'k'.repeat(5000), 'begin ']),
    () => 10n ** 40n,
    () => [],
    () => new Array(100_000),
    () => new Array(600).fill(null),
    () => Array.from({ length: 200 }, (_, i) => `key ${i}`),
    () => ({}),
    () => JSON.parse('{"__proto__":{"polluted":true},"op":"get","keys":["a"]}'),
    () => ({ toString: 1, valueOf: null }),
    () => cyclic(),
    () => nested(200),
    () => new Map<unknown, unknown>([['op', 'get']]),
    () => new Set([1]),
    () => new Date(Number.NaN),
    () => /(a+)+$/g,
    () => new Error('hostile', { cause: 1 }),
    () => new Blob(['x']),
    () => new ArrayBuffer(8),
    () => new Uint8Array(200_000),
    () => new Float64Array(3),
    () => new DataView(new ArrayBuffer(3)),
    () => new Uint8Array([0xff, 0x0f, 0x61, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    () => Uint8Array.from({ length: 40 }, () => random.below(256)),
    () => (typeof ImageData === 'undefined' ? new Boolean(false) : new ImageData(1, 1)),
  ])();
}

function oddNumber(random: Random): number {
  return random.pick([0, -1, -0, 0.5, 2 ** 31, 2 ** 53, 1e308, -1e308, Number.NaN, Infinity]);
}

function cyclic(): object {
  const value: Record<string, unknown> = { op: 'put' };
  value.entries = [value];
  value.error = value;
  return value;
}

function nested(depth: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

/** What a pollution would change, in words. */
function prototypes(): string {
  return [Object, Function, Array, Promise, Map, Error, Uint8Array, String, Number]
    .map(({ prototype }) => Reflect.ownKeys(prototype).map(String).join())
    .join(';');
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function inWords(message: unknown): string {
  try {
    const words = JSON.stringify(message, (_key, value: unknown) => {
      if (typeof value === 'bigint') return `${value}n`;
      if (Array.isArray(value) && value.length > 100) return `${value.length} elements`;
      return ArrayBuffer.isView(value) ? `${value.byteLength} bytes` : value;
    });
    return (words ?? String(message)).slice(0, 400);
  } catch {
    return `${Object.keys(message as object)}`; // cyclic, or too long
  }
}

/** mulberry32: small, and the same everywhere. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 up to but not including the bound. */
  readonly below = (bound: number): number => Math.floor(this.#next() * bound);

  readonly chance = (probability: number): boolean => this.#next() < probability;

  readonly pick = <T>(choices: readonly T[]): T => choices[this.below(choices.length)]!;

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}
