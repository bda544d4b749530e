// Generates hostile messages from a seed. Some are calls with a part replaced, added or removed, some make requests
// that comlink's own expose() would allow, and some have no known shape.

import type { Draws } from './draws.ts';

export class MessageGenerator {
  readonly #draws: Draws;
  readonly #session: unknown;
  readonly #addresses: readonly unknown[];

  constructor(draws: Draws, session: unknown, addresses: readonly unknown[]) {
    this.#draws = draws;
    this.#session = session;
    this.#addresses = [{ className: null, id: 'a'.repeat(64) }, ...addresses];
  }

  next(id: number): unknown {
    const draws = this.#draws;
    switch (draws.below(8)) {
      case 0:
        return oddValue(draws);
      case 1:
        return this.#request(id);
      case 2:
        // Makes a request that comlink's own expose() would perform for any caller.
        return { id: `${id}`, type: this.#type(), path: this.#path(), ...this.#rest() };
      case 3:
        return {
          type: draws.pick(['accepted', 'leads', 'connect', 7, null]),
          worker: oddValue(draws),
        };
      default:
        return this.#mutatedCall(id);
    }
  }

  /** Makes a request in the form of a call, for a value that is not a function. */
  #request(id: number): unknown {
    const draws = this.#draws;
    return [
      draws.pick<() => unknown>([() => id, () => id + 0.5, () => `${id}`, () => null])(),
      draws.pick([() => this.#path(), () => oddValue(draws), () => 'constructor', () => 'open'])(),
      draws.pick([() => oddValue(draws), () => [oddValue(draws)], () => new Array(100_000)])(),
      ...(draws.chance(0.1) ? [oddValue(draws)] : []),
    ];
  }

  #type(): unknown {
    const { pick } = this.#draws;
    return pick(['GET', 'SET', 'APPLY', 'CONSTRUCT', 'ENDPOINT', 'RELEASE', 'RAW', '', 5, null]);
  }

  #path(): unknown {
    return this.#draws.pick<() => unknown>([
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
      () => oddValue(this.#draws),
    ])();
  }

  #rest(): object {
    const draws = this.#draws;
    return {
      argumentList: draws.pick<() => unknown>([
        () => [],
        () => [{ type: 'RAW', value: 'return globalThis' }],
        () => [{ type: 'HANDLER', name: 'proxy', value: oddValue(draws) }],
        () => [
          { type: 'HANDLER', name: 'throw', value: { isError: false, value: oddValue(draws) } },
        ],
        () => new Array(100_000),
        () => oddValue(draws),
      ])(),
      value: { type: 'RAW', value: oddValue(draws) },
    };
  }

  /** Makes a call as a page sends it, with a part replaced, added or removed. */
  #mutatedCall(id: number): unknown {
    const draws = this.#draws;
    const name = draws.pick(Object.keys(SAMPLES));
    const parameters = SAMPLES[name]!(this.#session, draws.pick(this.#addresses), draws);
    const mutations = draws.below(4);
    let mutated: unknown = structuredClone(parameters);
    for (let i = 0; i < mutations; i++) mutated = mutate(mutated, draws);
    if (!Array.isArray(mutated)) mutated = [mutated];
    return call(id, name, (mutated as unknown[]).slice(0, 10));
  }
}

/** Makes a call as a page sends it. */
export function call(id: number, name: string, parameters: readonly unknown[]): unknown[] {
  return [id, name, parameters];
}

type Sample = (session: unknown, address: unknown, draws: Draws) => unknown[];

const BYTES = new Uint8Array([0xff, 0x0f, 0x30]);

/**
 * An object that is only deleted, and repeatedly. No message calls it, because deletions during calls are not tested
 * here.
 */
const DELETED_OBJECT = { className: null, id: 'f'.repeat(64) };

/** The flag of a call that was made long ago, so that the worker checks whether it was cancelled. */
const OLD_CALL_FLAG = { url: 'blob:flag', madeMs: 0 };

const SAMPLES: Readonly<Record<string, Sample>> = {
  open: (_session, address, { pick }) => [pick([address, 'hostile', 'other'])],
  execute: (session, _address, draws) => [
    session,
    Array.from({ length: 1 + draws.below(3) }, () => draws.pick(CALLS)),
  ],
  cancel: (_session, _address, { pick }) => [
    pick([[OLD_CALL_FLAG.url], [OLD_CALL_FLAG.url, 'blob:other'], []]),
  ],
  close: (_session, _address, { below }) => [1_000_000 + below(10)],
  classes: () => [],
  call: (_session, address, { pick }) => [
    address,
    pick([
      { op: 'call', path: ['echo'], payload: BYTES },
      { op: 'get', path: ['echo', 'deep'] },
      { op: 'get', path: ['echo'], flag: OLD_CALL_FLAG },
      { op: 'fetch', payload: BYTES },
    ]),
  ],
  manage: (_session, _address, { pick }) => [
    pick([
      { op: 'list', className: 'Room', after: null, limit: 10 },
      { op: 'delete', address: DELETED_OBJECT },
      { op: 'now' },
      { op: 'resume' },
    ]),
  ],
  // `nextLive` is left out, because with the number of a live read it would be answered only after a change.
  openLive: (_session, address, { pick }) => [
    {
      target: pick([address, 'hostile']),
      read: pick([
        { op: 'get', keys: ['a', 'b'] },
        { op: 'list', range: { start: BYTES, end: null, reverse: false, limit: 1 } },
        { op: 'query', query: 'SELECT 1', bindings: [1, 'a', null] },
        { op: 'query', query: 'DELETE FROM sqlite_schema', bindings: [] },
        { op: 'call', path: ['echo'], payload: BYTES },
      ]),
    },
  ],
  closeLive: (_session, _address, { below }) => [1_000_000 + below(10)],
  ask: (_session, _address, { pick }) => [
    1,
    pick([
      { op: 'call', path: [], payload: BYTES },
      { op: 'get', path: ['x'] },
      { op: 'pull' },
      { op: 'write', payload: BYTES },
    ]),
  ],
  release: () => [[1, 2]],
};

const RANGE = { start: new Uint8Array(0), end: null, reverse: false, limit: null };

const CALLS: readonly object[] = [
  { op: 'get', keys: ['a', 'b'] },
  { op: 'get', keys: ['a'], flag: OLD_CALL_FLAG },
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
  { op: 'getCurrentBookmark' },
  { op: 'getBookmarkForTime', timeMs: 1 },
  { op: 'onNextSessionRestoreBookmark', bookmark: 'x' },
  { op: 'cancelRestore' },
  { op: 'importDatabase', database: BYTES, wal: null },
  { op: 'restore', bookmark: 'b', timeMs: null },
  { op: 'abort', reason: 'hostile' },
  { op: 'toString' },
  { op: '__proto__' },
];

/** Replaces a random part of the value, or inserts one. */
function mutate(value: unknown, draws: Draws): unknown {
  const isBranch = typeof value === 'object' && value !== null && !ArrayBuffer.isView(value);
  if (!isBranch || draws.chance(0.2)) return oddValue(draws);
  const keys = Object.keys(value);
  const key = keys.length === 0 || draws.chance(0.1) ? 'extra' : draws.pick(keys);
  if (draws.chance(0.15)) Reflect.deleteProperty(value, key);
  else Reflect.set(value, key, mutate(Reflect.get(value, key), draws));
  return value;
}

/** Returns a value that structured clone accepts, in a shape that no call has. */
function oddValue(draws: Draws): unknown {
  return draws.pick<() => unknown>([
    () => null,
    () => undefined,
    () => true,
    () => oddNumber(draws),
    () => draws.pick(['', 'x', '__proto__', 'constructor', '\ud800', 'k'.repeat(5000), 'begin ']),
    () => 10n ** 40n,
    () => [],
    () => new Array(100_000),
    () => new Array(600).fill(null),
    () => Array.from({ length: 200 }, (_, i) => `key ${i}`),
    () => ({}),
    () => JSON.parse('{"__proto__":{"polluted":true},"op":"get","keys":["a"]}'),
    () => ({ toString: 1, valueOf: null }),
    () => cyclic(),
    () => nestedArrays(200),
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
    () => Uint8Array.from({ length: 40 }, () => draws.below(256)),
    () => (typeof ImageData === 'undefined' ? new Boolean(false) : new ImageData(1, 1)),
  ])();
}

function oddNumber(draws: Draws): number {
  return draws.pick([0, -1, -0, 0.5, 2 ** 31, 2 ** 53, 1e308, -1e308, Number.NaN, Infinity]);
}

function cyclic(): object {
  const value: Record<string, unknown> = { op: 'put' };
  value.entries = [value];
  value.error = value;
  return value;
}

function nestedArrays(depth: number): unknown {
  let value: unknown = [];
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}
