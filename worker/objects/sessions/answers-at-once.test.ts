// Calls of pages that wait for nothing: their outcomes are there when `execute` returns. Everything else waits
// as it always does.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { exec, get, put, TestSessions } from '../../../packages/testing/worker/test-sessions.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import type { Outcome } from '../../../src/shared/wire/errors-on-wire.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import type { SessionId } from '../../../src/shared/wire/protocol.ts';

let host: TestHost;
let sessions: TestSessions;
let session: SessionId;

beforeEach(async () => {
  host = await createTestHost();
  sessions = new TestSessions(host.host);
  session = await sessions.opened();
  await host.turns(3);
});
afterEach(() => host.close());

/** The outcomes, which must be there. */
function now(...calls: Call[]): Outcome[] {
  const outcomes = sessions.execute(session, calls);
  if (outcomes instanceof Promise) throw new Error('the outcomes are a promise');
  return outcomes;
}

/** The outcomes, which must not be there. */
function later(calls: Call[], from = session): Promise<Outcome[]> {
  const outcomes = sessions.execute(from, calls);
  if (!(outcomes instanceof Promise)) throw new Error('the outcomes are there');
  return outcomes;
}

test('[SES15] a read is answered at once', () => {
  expect(now(get('a'))).toEqual([{ ok: [null] }]);
  expect(now(exec('SELECT 1 AS x'))).toMatchObject([{ ok: { rows: [[1]], cursor: null } }]);
});

test('[SES15] a write whose flush has ended is answered at once: each message is a commit', () => {
  const before = host.committed();
  expect(now(put('a'))).toEqual([{ ok: null }]);
  expect(host.durable() - before).toBe(1);
  expect(now(put('a', 2), get('a'))).toEqual([{ ok: null }, { ok: [serialize(2)] }]);
  expect(host.durable() - before).toBe(2);
});

test('[SES15] a write whose flush ends later, and a read after it, wait for the flush', async () => {
  host.holdFlushes();
  let answered = 0;
  const count = () => void answered++;
  const written = later([put('a')]);
  const read = later([get('a')]);
  void written.then(count);
  void read.then(count);
  await host.turns(5);
  expect([host.committed(), answered]).toEqual([1, 0]);
  host.releaseFlushes();
  expect([await written, await read]).toEqual([[{ ok: null }], [{ ok: [serialize(1)] }]]);
  expect(now(get('a'))).toEqual([{ ok: [serialize(1)] }]);
});

test('[SES15] a statement that fails is an outcome, and the writes beside it are stored', () => {
  expect(now(put('a'), exec('SELECT * FROM missing'), put('b'))).toMatchObject([
    { ok: null },
    { error: { properties: { code: 'SQL' } } },
    { ok: null },
  ]);
  expect(host.durable()).toBe(1);
});

test('[SES15] a commit that fails resets the object: every call of the message says so', async () => {
  now(put('a'));
  host.failNextFlush();
  const failed = { error: { properties: { code: 'IO' } } };
  expect(await sessions.execute(session, [put('a', 2), get('a')])).toMatchObject([failed, failed]);
  expect(await sessions.execute(session, [get('a')])).toEqual([{ ok: [serialize(1)] }]);
});

test('[SES15] calls wait for an event of the object that runs, and for its microtasks', async () => {
  const seen: string[] = [];
  let read: Promise<Outcome[]> | undefined;
  await host.run(async ({ storage }) => {
    await null;
    read = later([get('a')]);
    void read.then(() => seen.push('read'));
    await null;
    await storage.put('a', 'mine');
    seen.push('event ends');
  });
  expect(await read).toEqual([{ ok: [serialize('mine')] }]);
  expect(seen).toEqual(['event ends', 'read']);
});

test('[SES15] calls wait for a critical section, and for the transaction of another session', async () => {
  const other = await sessions.opened();
  await sessions.execute(session, [{ op: 'begin', number: 1 }]);
  let answers = 0;
  const waiting = later([get('a')], other);
  void waiting.then(() => void answers++);
  await host.turns(3);
  expect(answers).toBe(0);
  await sessions.execute(session, [
    { ...put('a'), txn: 1 },
    { op: 'commit', txn: 1 },
  ]);
  expect(await waiting).toEqual([{ ok: [serialize(1)] }]);

  let release = () => {};
  const blocked = host.run((state) =>
    state.blockConcurrencyWhile(() => new Promise<void>((end) => (release = end))),
  );
  await host.turns(3);
  const read = later([get('a')]);
  void read.then(() => void answers++);
  await host.turns(3);
  expect(answers).toBe(1);
  release();
  await blocked;
  expect(await read).toEqual([{ ok: [serialize(1)] }]);
});

test('[SES15] calls of a transaction that has just opened are answered at once, in their order', async () => {
  await sessions.execute(session, [{ op: 'begin', number: 1 }]);
  now({ ...put('a'), txn: 1 });
  const committing = later([
    { ...put('a', 2), txn: 1 },
    { op: 'commit', txn: 1 },
  ]);
  const after = later([get('a')]);
  await committing;
  expect(await after).toEqual([{ ok: [serialize(2)] }]);
});

test('[SES15] an object that is answered at once stays in memory, and is evicted when it rests', async () => {
  await host.advance(9000);
  now(put('a'));
  await host.advance(9000);
  expect(now(get('a'))).toEqual([{ ok: [serialize(1)] }]);
  await host.advance(11_000);
  expect(await later([get('a')])).toEqual([{ ok: [serialize(1)] }]);
});
