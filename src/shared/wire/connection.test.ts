import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeHost } from '../../../packages/testing/page/fake-host.ts';
import { type CallMessage, ChannelEndpoint } from './channel-endpoint.ts';
import type { CallOf } from './operations.ts';
import { PageEnd } from './page-end.ts';
import type { StoragePeer } from './protocol.ts';
import { WorkerEnd } from './worker-end.ts';

const reason = new Error('the worker died');

let ports: MessageChannel;
let channels: BroadcastChannel[];

beforeEach(() => {
  ports = new MessageChannel();
  channels = [];
});

afterEach(() => {
  ports.port1.close();
  ports.port2.close();
  for (const channel of channels) channel.close();
});

describe.for(['port', 'channel'] as const)('over a %s', (kind) => {
  function endpoints(): [ChannelEndpoint, ChannelEndpoint] {
    if (kind === 'port') {
      return [new ChannelEndpoint(ports.port1), new ChannelEndpoint(ports.port2)];
    }
    channels = [new BroadcastChannel('connection'), new BroadcastChannel('connection')];
    return [new ChannelEndpoint(channels[0]!), new ChannelEndpoint(channels[1]!)];
  }

  function connect(host: StoragePeer) {
    const [page, worker] = endpoints();
    const connection = new PageEnd(page);
    return { connection, client: new WorkerEnd({ storage: host }, worker), page, worker };
  }

  async function opened(host: StoragePeer) {
    const connected = connect(host);
    const outcome = await connected.connection.worker.open('object');
    if (!('ok' in outcome)) throw new Error('The fake host did not open.');
    return { ...connected, session: outcome.ok };
  }

  test('[RPC2] calls are answered while the connection stands', async () => {
    const { connection, session } = await opened(new FakeHost(new Map()));
    const outcomes = await connection.worker.execute(session, [{ op: 'databaseSize' }]);
    expect(outcomes).toEqual([{ ok: 4096 }]);
  });

  test('[RPC2] pending calls reject with the reason when the connection fails', async () => {
    const host = new FakeHost(new Map());
    const { connection, session } = await opened(host);
    host.holdAnswers();
    const pending = connection.worker.execute(session, [{ op: 'sync' }]);
    connection.fail(reason);
    await expect(pending).rejects.toBe(reason);
    expect(await connection.lost).toBe(reason);
  });

  test('[RPC2] a failed connection rejects later calls at once, with the first reason', async () => {
    const { connection } = connect(new FakeHost(new Map()));
    connection.fail(reason);
    connection.fail(new Error('later'));
    await expect(connection.worker.open('object')).rejects.toBe(reason);
  });

  test('[RPC3] the worker ending the connection rejects pending calls', async () => {
    const host = new FakeHost(new Map());
    const { connection, client, session } = await opened(host);
    host.holdAnswers();
    const pending = connection.worker.execute(session, [{ op: 'sync' }]);
    client.end();
    await expect(pending).rejects.toMatchObject({ code: 'CONNECTION_CLOSED', retryable: true });
  });

  test('[RPC3] a reply that cannot be read ends the connection', async () => {
    const host = new FakeHost(new Map());
    const { connection, session } = await opened(host);
    host.holdAnswers();
    const pending = connection.worker.execute(session, [{ op: 'sync' }]);
    (kind === 'port' ? ports.port1 : channels[0]!).dispatchEvent(new Event('messageerror'));
    await expect(pending).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  test('[RPC4] when the client goes its sessions are closed in the host', async () => {
    const host = new FakeHost(new Map());
    const { client } = await opened(host);
    expect(host.sessions.size).toBe(1);
    client.end();
    expect(host.sessions.size).toBe(0);
  });

  test('[RPC4] a session still being opened when the client goes is closed too', async () => {
    const host = new FakeHost(new Map());
    const { client } = connect(host);
    const opening = client.open('object');
    client.end();
    await opening;
    expect(host.sessions.size).toBe(0);
  });

  test('[RPC4] a client reaches only its own sessions', async () => {
    const host = new FakeHost(new Map());
    const other = await host.open('other');
    const { connection } = await opened(host);
    if (!('ok' in other)) throw new Error('The fake host did not open.');
    const [outcome] = await connection.worker.execute(other.ok, [
      { op: 'deleteAll', unconfirmed: false },
    ]);
    expect(outcome).toMatchObject({ error: { properties: { code: 'CONNECTION_CLOSED' } } });
    expect(host.operations).toEqual([]);
  });

  test('[RPC5] a host that throws is answered as outcomes that keep the class', async () => {
    const host = new FakeHost(new Map());
    const { connection, session } = await opened(host);
    host.execute = () => Promise.reject(new RangeError('memory access out of bounds'));
    const outcomes = await connection.worker.execute(session, [{ op: 'sync' }, { op: 'sync' }]);
    const error = { name: 'RangeError', message: 'memory access out of bounds' };
    expect(outcomes).toMatchObject([{ error }, { error }]);
  });

  test('[DUR4] an answer waits for the watch of the files, unless it waits for an event', async () => {
    const [page, worker] = endpoints();
    const gone = new RangeError('the files are gone');
    const ok = async () => ({ ok: 1 });
    const objects = {
      classes: async () => ({ ok: { classes: [], bindings: [] } }),
      call: async () => ({ ok: new Uint8Array(1) }),
      manage: ok,
      ask: async () => ({ ok: new Uint8Array(1) }),
      release: async () => {},
      end: () => {},
    };
    const live = {
      openLive: ok,
      nextLive: async () => ({ ok: new Uint8Array(1) }),
      closeLive: async () => {},
      end: () => {},
    };
    let isGone = false;
    new WorkerEnd(
      {
        storage: new FakeHost(new Map()),
        objects: { connect: () => objects },
        live: { connect: () => live },
        watch: { during: (work) => (isGone ? Promise.reject(gone) : work()) },
      },
      worker,
    );
    const calls = new PageEnd(page).worker;
    const address = { className: 'Room', id: 'a'.repeat(64) };
    const opened = await calls.open('object');
    const session = 'ok' in opened ? opened.ok : 0;
    const watched = () => [
      calls.open('object'),
      calls.execute(session, [{ op: 'databaseSize' }]).then(([outcome]) => outcome),
      calls.call(address, { op: 'get', path: ['member'] }),
      calls.manage({ op: 'now' }),
      calls.ask(1, { op: 'get', path: ['member'] }),
      calls.ask(1, { op: 'pull' }),
      calls.openLive({ target: 'object', read: { op: 'get', keys: ['a'] } }),
      calls.nextLive(1),
    ];
    for (const outcome of await Promise.all(watched())) expect(outcome).toHaveProperty('ok');
    isGone = true;
    for (const outcome of await Promise.all(watched())) {
      expect(outcome).toMatchObject({ error: { name: 'RangeError', message: gone.message } });
    }
    expect(await calls.call(address, { op: 'watch' })).toHaveProperty('ok');
    expect(await calls.ask(1, { op: 'wait' })).toHaveProperty('ok');
    expect(await calls.classes()).toHaveProperty('ok');
  });

  const isPort = kind === 'port';

  test('[RPC7] the large values of a put move to the worker, and those of a transaction are copied', {
    tags: 'long',
  }, async () => {
    const { connection, session } = await opened(new FakeHost(new Map()));
    const values = ['small', 'large', 'in a transaction'].map((key, i) => {
      const value = new Uint8Array(i === 0 ? 100 : 100_000).fill(i + 1);
      return [key, value] as const;
    });
    const puts = values.map(
      (entry): CallOf<'put'> => ({ op: 'put', entries: [entry], unconfirmed: false }),
    );
    await connection.worker.execute(session, puts.slice(0, 2));
    await connection.worker.execute(session, [{ op: 'begin', number: 1 }]);
    await connection.worker.execute(session, [{ ...puts[2]!, txn: 1 }]);
    const keys = values.map(([key]) => key);
    const [outcome] = await connection.worker.execute(session, [{ op: 'get', keys }]);
    expect(outcome).toEqual({
      ok: [100, 100_000, 100_000].map((length, i) => new Uint8Array(length).fill(i + 1)),
    });
    const left = values.map(([, value]) => value.byteLength);
    expect(left).toEqual([100, isPort ? 0 : 100_000, 100_000]);
  });

  test('[RPC7] the large values of a result move to the page: each buffer once, and nothing beside them', {
    tags: 'long',
  }, async () => {
    const shared = new Uint8Array(50_000).fill(1);
    const slices = [shared.subarray(0, 10), shared.subarray(10, 30_000), new Uint8Array(4).fill(2)];
    const database = new Uint8Array(8192).fill(3);
    const host = new FakeHost(new Map());
    const { connection, session } = await opened(host);
    const blob = new Uint8Array(9000).fill(4);
    const results = [
      slices,
      slices.slice(1).map((value, i) => [`key ${i}`, value]),
      database,
      { columnNames: ['a'], rows: [[blob.buffer]], rowsRead: 1, rowsWritten: 0 },
    ];
    const expected = structuredClone(results);
    host.execute = async () => results.map((ok) => ({ ok }));
    const range = { start: new Uint8Array(), end: null, reverse: false, limit: null };
    const outcomes = await connection.worker.execute(session, [
      { op: 'get', keys: ['a', 'b', 'c'] },
      { op: 'list', range },
      { op: 'exportDatabase' },
      { op: 'rows', cursor: 1, rowCount: 1 },
    ]);
    expect(outcomes).toEqual(expected.map((ok) => ({ ok })));
    const left = [...slices, database, blob].map(({ byteLength }) => byteLength);
    expect(left).toEqual(isPort ? [0, 0, 4, 0, 9000] : [10, 29_990, 4, 8192, 9000]);
  });

  test('[RPC5] a call that cannot be posted rejects and the connection stands', async () => {
    const { connection, session } = await opened(new FakeHost(new Map()));
    const unpostable = { op: 'sync', extra: () => {} } as never;
    await expect(connection.worker.execute(session, [unpostable])).rejects.toMatchObject({
      code: 'INTERNAL',
      cause: { name: 'DataCloneError' },
    });
    expect(connection.failure).toBe(null);
  });

  test('[BORDER4] an answer that is not an outcome settles its calls as INTERNAL', async () => {
    const [page, worker] = endpoints();
    const connection = new PageEnd(page);
    let value: unknown;
    worker.addEventListener('message', (event) => {
      const [number] = (event as MessageEvent<CallMessage>).data;
      worker.postMessage([number, value]);
    });
    const internal = { error: { properties: { code: 'INTERNAL' } } };
    for (value of [undefined, null, 7, 'text', {}, []]) {
      expect(await connection.worker.open('object')).toMatchObject(internal);
      const calls = [{ op: 'sync' }, { op: 'sync' }] as const;
      expect(await connection.worker.execute(1, calls)).toMatchObject([internal, internal]);
    }
  });

  test('[BORDER5] messages of no shape end nothing', async () => {
    const { connection, page, worker } = connect(new FakeHost(new Map()));
    for (const nothing of [null, undefined, 7, 'text', [], { type: null }]) {
      page.postMessage(nothing);
      worker.postMessage(nothing);
    }
    expect(await connection.worker.open('object')).toMatchObject({ ok: expect.any(Number) });
    expect(connection.failure).toBe(null);
  });
});
