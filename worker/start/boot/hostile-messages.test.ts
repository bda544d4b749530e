import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sendHostileMessages } from '../../../packages/testing/page/hostile-messages.ts';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import { ChannelEndpoint } from '../../../src/shared/wire/channel-endpoint.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import { PageEnd } from '../../../src/shared/wire/page-end.ts';
import { WorkerEnd, type WorkerService } from '../../../src/shared/wire/worker-end.ts';
import { MemoryMedium } from '../../engine/file/medium.ts';
import { MemoryCatalog } from '../../objects/catalog/catalog.ts';
import { ClassRegistry } from '../../objects/instance/object-class.ts';
import { PageSessions } from '../../objects/sessions/page-sessions.ts';
import { objectRealm } from '../../realm/globals/object-realm.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { type RunningHost, startHost } from './start-host.ts';

class Room extends DurableObject {
  echo(value: unknown): unknown {
    return value;
  }
  fetch(): Response {
    return new Response('here');
  }
}

let running: RunningHost;
let host: WorkerService;

beforeAll(async () => {
  const sqlite = await loadSqliteInNode();
  const platform = {
    sqlite,
    medium: new MemoryMedium(),
    catalog: new MemoryCatalog(),
    realm: objectRealm,
    isDedicated: false,
  };
  running = await startHost(platform, new ClassRegistry({ Room }, {}), {});
  const sessions = new PageSessions(running.host, () => () => {});
  host = {
    storage: sessions,
    objects: running.namespaces.calls,
    live: running.namespaces.live,
  };
});

afterAll(() => running.close());

/** Reports the errors that a listener of messages throws, because nobody else catches them in Node. */
function watch(report: (error: unknown) => void): () => void {
  const events = ['uncaughtException', 'unhandledRejection'] as const;
  const before = events.map((event) => process.listeners(event as never));
  for (const event of events) {
    process.removeAllListeners(event);
    process.on(event, report);
  }
  return () => {
    for (const [i, event] of events.entries()) {
      process.removeAllListeners(event);
      for (const listener of before[i]!) process.on(event, listener);
    }
  };
}

describe('a peer with other code', () => {
  let ports: MessageChannel;

  beforeEach(() => {
    ports = new MessageChannel();
    new WorkerEnd(host, new ChannelEndpoint(ports.port1));
  });

  afterEach(() => ports.port1.close());

  /** Sends a request for `name` and returns the answer. */
  function answerTo(name: unknown, ...parameters: unknown[]): Promise<unknown> {
    return new Promise((resolve) => {
      ports.port2.addEventListener('message', ({ data }) => data[0] === 7 && resolve(data[1]));
      ports.port2.start();
      ports.port2.postMessage([7, name, parameters]);
    });
  }

  const refused = { error: { properties: { code: 'INVALID_ARGUMENT' } } };

  test.for<[string, unknown]>([
    ['a function’s constructor', ['open', 'constructor']],
    ['inherited members of every object', 'toString'],
    ['what every object inherits, on a path', ['__proto__', 'polluted']],
    ['a member', 'open.name'],
    ['a function on a path', ['open']],
    ['something without a name', undefined],
  ])('[BORDER1] does not reach %s', async ([, name]) => {
    expect(await answerTo(name, 'return 1')).toMatchObject(refused);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    const connection = new PageEnd(new ChannelEndpoint(ports.port2));
    expect(await connection.worker.open('object')).toMatchObject({ ok: expect.any(Number) });
  });

  test('[BORDER1] changes no prototype and no function by the messages of comlink', async () => {
    ports.port2.start();
    for (const path of [['__proto__', 'polluted'], ['open', '__proto__', 'polluted'], ['open']]) {
      ports.port2.postMessage({ id: 'x', type: 'SET', path, value: { type: 'RAW', value: 1 } });
    }
    const connection = new PageEnd(new ChannelEndpoint(ports.port2));
    expect(await connection.worker.open('object')).toMatchObject({ ok: expect.any(Number) });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect(Object.hasOwn(Function.prototype, 'polluted')).toBe(false);
  });

  test.for([1, 2, 3])(
    '[BORDER2] 700 messages of any shape, seed %i',
    { tags: 'long' },
    async (seed) => {
      const { classes } = running.host;
      const id = classes.get('Room').ids.fromName('a').toString();
      const addresses = [{ className: 'Room', id }];
      const violations = await sendHostileMessages(host, { seed, count: 700, watch, addresses });
      expect(violations).toEqual([]);
    },
  );

  test('[BORDER2] a message with one malformed call is refused whole', async () => {
    const connection = new PageEnd(new ChannelEndpoint(ports.port2));
    const opened = await connection.worker.open('whole');
    const session = 'ok' in opened ? opened.ok : expect.fail();
    const put = { op: 'put', entries: [['a', serialize(1)]], unconfirmed: false } as const;
    const outcomes = await connection.worker.execute(session, [put, { op: 'nonsense' } as never]);
    expect(outcomes).toMatchObject([refused, refused]);
    expect(await connection.worker.execute(session, [{ op: 'get', keys: ['a'] }])).toEqual([
      { ok: [null] },
    ]);
  });

  const bytes = serialize(1);
  test.for<[string, Call | object, string]>([
    ['a long key', { op: 'get', keys: ['k'.repeat(2049)] }, 'KEY_TOO_LARGE'],
    ['129 keys', { op: 'delete', keys: Array(129).fill('k'), unconfirmed: true }, 'TOO_MANY_KEYS'],
    ['129 pairs', put(Array(129).fill(['k', bytes])), 'TOO_MANY_KEYS'],
    ['a large value', put([['k', new Uint8Array(131_200)]]), 'VALUE_TOO_LARGE'],
    ['a value that is not bytes', put([['k', 'text']]), 'INVALID_ARGUMENT'],
    [
      'an alarm in no time',
      { op: 'setAlarm', timeMs: 1e308, unconfirmed: false },
      'INVALID_ARGUMENT',
    ],
    [
      'rows without end',
      { op: 'exec', query: '', bindings: [], rowCount: 1e9 },
      'INVALID_ARGUMENT',
    ],
    [
      'a bigint to bind',
      { op: 'exec', query: '', bindings: [1n], rowCount: 1 },
      'INVALID_ARGUMENT',
    ],
    ['a file that is text', { op: 'importDatabase', database: 'x', wal: null }, 'INVALID_ARGUMENT'],
    ['an end of no transaction', { op: 'commit' }, 'INVALID_ARGUMENT'],
  ])('[BORDER3] the worker refuses %s by itself', async ([, call, code]) => {
    const connection = new PageEnd(new ChannelEndpoint(ports.port2));
    const opened = await connection.worker.open('limits');
    const session = 'ok' in opened ? opened.ok : expect.fail();
    const outcomes = await connection.worker.execute(session, [call as Call]);
    expect(outcomes).toMatchObject([{ error: { properties: { code } } }]);
  });

  test('[BORDER3] the worker refuses a message of too many calls', async () => {
    const connection = new PageEnd(new ChannelEndpoint(ports.port2));
    const opened = await connection.worker.open('limits');
    const session = 'ok' in opened ? opened.ok : expect.fail();
    const outcomes = await connection.worker.execute(session, Array(513).fill({ op: 'sync' }));
    expect(outcomes[0]).toMatchObject(refused);
    const alone = await connection.worker.execute(session, [
      { op: 'sync' },
      { op: 'begin', number: 1 },
    ]);
    expect(alone).toMatchObject([refused, refused]);
  });

  test('[BORDER3] a value of the largest size passes', async () => {
    const connection = new PageEnd(new ChannelEndpoint(ports.port2));
    const opened = await connection.worker.open('limits');
    const session = 'ok' in opened ? opened.ok : expect.fail();
    const values = ['x'.repeat(131_072), 'Ω'.repeat(65_536), new Uint8Array(131_072)];
    for (const value of values) {
      const outcomes = await connection.worker.execute(session, [put([['k', serialize(value)]])]);
      expect(outcomes).toEqual([{ ok: null }]);
    }
  });
});

function put(entries: (readonly [string, unknown])[]): Call {
  return { op: 'put', entries: entries as [string, Uint8Array][], unconfirmed: false };
}
