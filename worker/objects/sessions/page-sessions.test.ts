// The sessions of pages: batches of calls, cursors, resets, and what the end of a session leaves.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import {
  begin,
  exec,
  get,
  put,
  TestSessions,
} from '../../../packages/testing/worker/test-sessions.ts';
import { idOfStorage } from '../../../src/shared/contract/object-id.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import type { WireAddress } from '../../../src/shared/wire/address.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import type { SessionId } from '../../../src/shared/wire/protocol.ts';
import type { RowBatch } from '../../../src/shared/wire/results.ts';

let host: TestHost;
let sessions: TestSessions;

beforeEach(async () => {
  host = await createTestHost();
  sessions = new TestSessions(host.host);
});
afterEach(() => host.close());

const open = () => sessions.opened();
const call = (session: SessionId, request: Call) => sessions.call(session, request);

/** All batches of a query's rows. */
async function batchesOf(session: SessionId, query: ReturnType<typeof exec>) {
  const batches = [(await call(session, query)) as Required<RowBatch>];
  for (let last = batches[0]!; last.cursor !== null; last = batches.at(-1)!) {
    const more = { op: 'rows', cursor: last.cursor, rowCount: query.rowCount } as const;
    batches.push((await call(session, more)) as Required<RowBatch>);
  }
  return batches;
}

test('[BRANCH15] a session ends the branches it made that nobody opened, and knows no other of them', async () => {
  const session = await open();
  const fork = async (name: string | null) => {
    const request = {
      op: 'fork',
      bookmark: null,
      timeMs: null,
      name,
      isKept: name !== null,
      sends: false,
    };
    return (await call(session, request as Call)) as { readonly id: string };
  };
  const target = (branch: string): WireAddress => ({
    className: null,
    id: idOfStorage('object').toString(),
    branch: [branch],
  });
  const unused = await fork(null);
  await fork('kept');
  for (let i = 0; i < 20; i++) {
    await sessions.close(await sessions.opened(target((await fork(null)).id)));
  }
  const later = await fork(null);
  const abandon = vi.spyOn(host.host.branches, 'abandon');
  await sessions.close(session);
  const abandoned = abandon.mock.calls.map(([{ branch }]) => branch);
  expect(abandoned.filter((way) => way?.[0] === unused.id || way?.[0] === later.id)).toHaveLength(
    2,
  );
  expect(abandoned).toHaveLength(2);
  expect(await sessions.open(target(unused.id))).toMatchObject({
    error: { properties: { code: 'BRANCH_ENDED' } },
  });
});

test('[SES1] calls of a batch run in order and have outcomes of their own', async () => {
  const session = await open();
  const outcomes = await sessions.execute(session, [
    put('a', 'x'),
    exec('SELECT * FROM missing'),
    get('a'),
  ]);
  expect(outcomes[0]).toEqual({ ok: null });
  expect(outcomes[1]).toMatchObject({ error: { properties: { code: 'SQL' } } });
  expect(outcomes[2]).toEqual({ ok: [serialize('x')] });
});

test('[SES2] a thousand writes of one turn share one commit and one flush', async () => {
  const session = await open();
  await call(session, put('k0', 'x'));
  const [committed, flushes] = [host.committed(), host.flushes()];
  await sessions.execute(
    session,
    Array.from({ length: 1000 }, (_, i) => put(`k${i}`, 'x')),
  );
  expect([host.committed() - committed, host.flushes() - flushes]).toEqual([1, 1]);
  expect(host.durable()).toBe(host.committed());
});

test('[SES3] rows of a cursor come in batches of the requested number until it ends', async () => {
  const session = await open();
  const query =
    'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 25) SELECT x FROM c';
  const batches = await batchesOf(session, exec(query, 10));
  expect(batches.map(({ rows }) => rows.length)).toEqual([10, 10, 5]);
  expect(batches.flatMap(({ rows }) => rows.map(([x]) => x))).toEqual(
    Array.from({ length: 25 }, (_, i) => i + 1),
  );
  expect(batches[0]!.columnNames).toEqual(['x']);
});

test('[SES3] a batch of large rows ends with the row that makes it 1 MiB', async () => {
  const session = await open();
  const query =
    'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9) ' +
    "SELECT CASE WHEN x % 2 THEN zeroblob(262144) ELSE replace(hex(zeroblob(131072)), '0', 'a') END FROM c";
  const batches = await batchesOf(session, exec(query, 100));
  expect(batches.map(({ rows }) => rows.length)).toEqual([4, 4, 1]);
});

test.for<[string, (cursor: number) => Call]>([
  ['that was closed', (cursor) => ({ op: 'closeCursor', cursor })],
  ['of an object that was reset', () => ({ op: 'abort', reason: 'test' })],
])('[SES4] a cursor %s is CURSOR_CLOSED', async ([, end]) => {
  const session = await open();
  const query = 'SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3';
  const cursor = ((await call(session, exec(query, 1))) as RowBatch).cursor!;
  await call(session, end(cursor));
  await expect(call(session, { op: 'rows', cursor, rowCount: 1 })).rejects.toMatchObject({
    code: 'CURSOR_CLOSED',
  });
});

test('[SES9] a query that waits for its turn when its handle is closed leaves no cursor', async () => {
  const [holder, closed] = [await open(), await open()];
  const made = 'CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (3)';
  await call(holder, exec(made, 1));
  const txn = (await call(holder, begin())) as number;
  const query = 'SELECT x FROM t';
  const rows = sessions.execute(closed, [exec(query, 1)]);
  await host.turns(2);
  await sessions.close(closed);
  await call(holder, { op: 'commit', txn });
  expect(await rows).toMatchObject([{ ok: { cursor: null } }]);
  await call(holder, exec('DROP TABLE t', 1));
  const instance = await host.host.instance(host.address());
  await host.advance(20_000);
  expect(instance.hasEnded).toBe(true);
});

test('[SES11] an object with an open cursor or transaction is not evicted, an idle one is', async () => {
  const session = await open();
  const query = 'SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3';
  const { cursor } = (await call(session, exec(query, 1))) as RowBatch;
  const instance = await host.host.instance(host.address());
  await host.advance(60_000);
  expect((await call(session, { op: 'rows', cursor: cursor!, rowCount: 9 })) as RowBatch).toEqual(
    expect.objectContaining({ rows: [[2], [3]], cursor: null }),
  );
  const txn = (await call(session, begin())) as number;
  await host.advance(20_000);
  await call(session, put('a', 'kept', txn));
  await call(session, { op: 'commit', txn });
  expect(await host.host.instance(host.address())).toBe(instance);
  await call(session, get('a'));
  await host.advance(60_000);
  expect(await host.host.instance(host.address())).not.toBe(instance);
  expect(await call(session, get('a'))).toEqual([serialize('kept')]);
});

test('[SES10] abort drops the unconfirmed', async () => {
  const session = await open();
  await call(session, put('a', 'confirmed'));
  host.holdFlushes();
  await call(session, { ...put('a', 'unconfirmed'), unconfirmed: true } as Call);
  expect(await call(session, get('a'))).toEqual([serialize('unconfirmed')]);
  const aborted = call(session, { op: 'abort', reason: 'test' });
  await host.turns(5);
  host.releaseFlushes();
  await aborted;
  expect(await call(session, get('a'))).toEqual([serialize('confirmed')]);
});
