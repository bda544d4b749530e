// Messages of any shape on the channels between pages and the worker that leads: those of the
// protocol (src/shared/wire), the same with parts replaced, and those of comlink that the protocol never uses.

import type { Draws } from '../../../packages/testing/page/draws.ts';

/** A message that is posted on a connection. */
export interface HostileMessage {
  readonly message: unknown;
  /** The operation that the message calls, if it exists; then it must be answered. */
  readonly operation?: Operation;
  /** Calls of `execute` that no worker knows. */
  readonly hasUnknownCall: boolean;
}

export const OPERATIONS = [
  'open',
  'execute',
  'close',
  'classes',
  'call',
  'manage',
  'ask',
  'release',
] as const;
export type Operation = (typeof OPERATIONS)[number];

const CALL_NAMES = new Set(
  (
    'get put delete list deleteAll getAlarm setAlarm deleteAlarm sync exec rows closeCursor ' +
    'execMany batch putMany databaseSize begin commit rollback getCurrentBookmark getBookmarkForTime onNextSessionRestoreBookmark ' +
    'cancelRestore exportDatabase importDatabase restore abort'
  ).split(' '),
);

export class MessageGrammar {
  readonly #draws: Draws;
  readonly #object: string;
  #id = 0;

  /** `object` is the name that no other case uses. */
  constructor(draws: Draws, object: string) {
    this.#draws = draws;
    this.#object = object;
  }

  /** A message on a connection; `sessions` are the numbers its client was given. */
  next(sessions: readonly number[]): HostileMessage {
    const draws = this.#draws;
    if (draws.chance(0.2)) return { message: this.#foreign(), hasUnknownCall: false };
    const operation = draws.pick([...OPERATIONS, 'execute', 'execute', 'execute'] as const);
    let parameters: unknown[] = this.#parameters(operation, sessions);
    if (draws.chance(0.7)) parameters = this.#damaged(parameters) as unknown[];
    if (!Array.isArray(parameters)) parameters = [parameters];
    const calls = operation === 'execute' ? parameters[1] : undefined;
    const hasUnknownCall = Array.isArray(calls) && calls.some((call) => !CALL_NAMES.has(call?.op));
    const message = [this.#newId(), operation, parameters];
    return { message, operation, hasUnknownCall };
  }

  /** Messages to a control channel, or to the worker's own page. */
  control(): unknown {
    const draws = this.#draws;
    const type = draws.pick([
      'who',
      'connect',
      'leads',
      'takeover',
      'start',
      'accepted',
      'yields',
      'paused',
      'closed',
      'x',
      5,
      null,
    ]);
    return this.#damaged(
      draws.pick([
        { type },
        {
          type,
          worker: this.#unusualValue(),
          client: this.#unusualValue(),
          connection: this.#unusualValue(),
        },
        { type, worker: draws.pick(['leader', 'other']), by: this.#unusualValue() },
        { type, worker: 'other', deployment: this.#unusualValue(), version: this.#unusualValue() },
        this.#unusualValue(),
      ]),
    );
  }

  #parameters(operation: Operation, sessions: readonly number[]): unknown[] {
    const draws = this.#draws;
    const session = draws.chance(0.8) ? draws.pick([...sessions, 0]) : this.#unusualValue();
    switch (operation) {
      case 'open':
        return [draws.chance(0.5) ? this.#object : this.#address()];
      case 'execute':
        return [session, draws.times(draws.below(4), () => this.#call())];
      case 'close':
        return [draws.chance(0.2) ? session : this.#unusualValue()];
      case 'classes':
        return [];
      case 'call':
        return [this.#address(), this.#request()];
      case 'manage':
        return [
          draws.pick<unknown>([
            {
              op: 'list',
              className: draws.pick(['Counter', '__proto__', 'None']),
              after: null,
              limit: 10,
            },
            { op: 'delete', address: this.#address() },
            { op: 'now' },
            { op: 'resume' },
            { op: 'set', timeMs: this.#unusualValue() },
            { op: 'advance', durationMs: draws.pick([0, -1, Number.NaN, 'x', null]) },
            { op: this.#unusualValue() },
          ]),
        ];
      case 'ask':
        return [
          draws.below(5),
          draws.pick<unknown>([
            {
              op: 'call',
              path: draws.pick([[], ['__proto__'], ['x', 'y']]),
              payload: this.#bytes(),
            },
            { op: 'get', path: ['constructor'] },
            { op: draws.pick(['pull', 'close', 'wait']) },
            { op: draws.pick(['cancel', 'write', 'abort']), payload: this.#bytes() },
            { op: this.#unusualValue() },
          ]),
        ];
      case 'release':
        return [draws.times(draws.below(3), () => draws.below(9))];
    }
  }

  #call(): unknown {
    const draws = this.#draws;
    const unconfirmed = draws.chance(0.3);
    const key = draws.pick(['k', 'k2', '__proto__', '']);
    return draws.pick<() => unknown>([
      () => ({ op: 'get', keys: [key] }),
      () => ({ op: 'put', entries: [[key, this.#bytes()]], unconfirmed }),
      () => ({ op: 'put', entries: [['x'.repeat(5000), this.#bytes()]], unconfirmed }),
      () => ({ op: 'put', entries: [[key, new Uint8Array(200_000)]], unconfirmed }),
      () => ({ op: 'delete', keys: [key], unconfirmed }),
      () => ({
        op: 'list',
        range: { start: null, end: null, limit: draws.below(5), reverse: false },
      }),
      () => ({ op: 'list', range: this.#unusualValue() }),
      () => ({ op: draws.pick(['deleteAll', 'deleteAlarm']), unconfirmed }),
      () => ({
        op: draws.pick([
          'getAlarm',
          'sync',
          'databaseSize',
          'getCurrentBookmark',
          'exportDatabase',
          'cancelRestore',
        ]),
      }),
      () => ({ op: 'setAlarm', timeMs: draws.pick([4e12, Number.NaN, -1, 1e300]), unconfirmed }),
      () => ({
        op: 'exec',
        query: 'SELECT ? AS __proto__',
        bindings: [this.#unusualValue()],
        rowCount: 10,
      }),
      () => ({
        op: 'exec',
        query: this.#unusualValue(),
        bindings: [],
        rowCount: this.#unusualValue(),
      }),
      () => ({ op: draws.pick(['rows', 'closeCursor']), cursor: draws.below(9), rowCount: 5 }),
      () => ({ op: draws.pick(['commit', 'rollback']), txn: draws.below(9) }),
      () => ({ op: 'get', keys: ['k'], txn: this.#unusualValue() }),
      () => ({ op: draws.pick(['getBookmarkForTime']), timeMs: this.#unusualValue() }),
      () => ({ op: 'onNextSessionRestoreBookmark', bookmark: this.#unusualValue() }),
      () => ({ op: 'importDatabase', database: this.#bytes(), wal: null }),
      () => ({
        op: 'restore',
        bookmark: draws.pick([this.#unusualValue(), null]),
        timeMs: this.#unusualValue(),
      }),
      () => ({ op: 'abort', reason: this.#unusualValue() }),
      () => ({ op: draws.pick(['toString', '__proto__', 'constructor', '', 'drop']) }),
      () => this.#unusualValue(),
    ])();
  }

  #request(): unknown {
    const draws = this.#draws;
    const name = draws.pick(['add', 'constructor', '__proto__', 'ctx', 'toString', '', 'then']);
    const path = draws.pick<unknown>([[name], ['add', name], [], name]);
    return draws.pick<unknown>([
      { op: 'call', path, payload: this.#bytes() },
      { op: 'get', path },
      { op: 'fetch', payload: this.#bytes() },
      { op: this.#unusualValue() },
    ]);
  }

  #address(): unknown {
    const draws = this.#draws;
    const id = draws.times(64, () => draws.below(16).toString(16)).join('');
    return {
      className: draws.pick([null, 'Counter', 'None', '__proto__', 'constructor']),
      id: draws.pick([id, '', '../../etc', id.slice(1), id.toUpperCase()]),
      ...(draws.chance(0.3) && { name: this.#unusualValue() }),
    };
  }

  /** Requests for missing functions, messages of comlink, and values that are not messages. */
  #foreign(): unknown {
    const draws = this.#draws;
    const id = this.#newId();
    const path = draws.pick<unknown>([
      ['__proto__', 'polluted'],
      ['open', '__proto__', 'polluted'],
      ['constructor', 'prototype', 'polluted'],
      ['open', 'constructor'],
      ['open'],
      ['nothing'],
      [],
      'open',
      null,
      5,
      [{}],
      [null],
    ]);
    return draws.pick<unknown>([
      [id, path, []],
      [id, path, ['return 1']],
      [id, 'open', this.#unusualValue()],
      [id, this.#unusualValue(), []],
      [this.#unusualValue(), 'classes', []],
      [id, 'classes'],
      [id, 'classes', [], []],
      { id, type: 'SET', path, value: { type: 'RAW', value: 'hostile' } },
      { id, type: 'GET', path },
      { id, type: 'CONSTRUCT', path, argumentList: [{ type: 'RAW', value: 'return 1' }] },
      { id, type: 'APPLY', path, argumentList: [{ type: 'RAW', value: 'return 1' }] },
      { id, type: 'ENDPOINT', path },
      { id, type: 'RELEASE' },
      this.control(),
      this.#unusualValue(),
    ]);
  }

  /** Returns the value with a few parts replaced, at any depth. */
  #damaged(value: unknown): unknown {
    const draws = this.#draws;
    if (draws.chance(0.12)) return this.#unusualValue();
    if (Array.isArray(value)) return value.map((inner) => this.#damaged(inner));
    if (value !== null && typeof value === 'object' && !ArrayBuffer.isView(value)) {
      const members = Object.entries(value).filter(() => draws.chance(0.93));
      return Object.fromEntries(members.map(([name, inner]) => [name, this.#damaged(inner)]));
    }
    return value;
  }

  #unusualValue(): unknown {
    const draws = this.#draws;
    return draws.pick<unknown>([
      null,
      undefined,
      true,
      Number.NaN,
      -1,
      0.5,
      1e308,
      2n ** 64n,
      '',
      'x',
      '__proto__',
      '\ud800',
      'y'.repeat(10_000),
      [],
      [[]],
      {},
      JSON.parse('{"__proto__": {"polluted": true}, "constructor": null, "length": -1}'),
      new Date(Number.NaN),
      new Map([[1, 2]]),
      new Uint8Array(3),
      new ArrayBuffer(2),
      /x/,
      new Error('hostile'),
    ]);
  }

  #bytes(): Uint8Array {
    const draws = this.#draws;
    return draws.pick([
      Uint8Array.of(0xff, 15, 0x49, 4),
      Uint8Array.from(draws.times(draws.below(40), () => draws.below(256))),
      new Uint8Array(),
    ]);
  }

  #newId(): number {
    this.#id += 1;
    return this.#id;
  }
}
