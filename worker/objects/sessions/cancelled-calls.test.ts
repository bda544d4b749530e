// Calls of pages that are cancelled before they begin in the worker, or while they run.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { begin, exec, put, TestSessions } from '../../../packages/testing/worker/test-sessions.ts';
import { idOfStorage } from '../../../src/shared/contract/object-id.ts';
import type { Outcome } from '../../../src/shared/wire/errors-on-wire.ts';

const ENDLESS = 'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c)';

let host: TestHost;
let sessions: TestSessions;
let revoked: Set<string>;
/** Looks at flags after which all of them are revoked. */
let looksLeft: number;

beforeEach(async () => {
  revoked = new Set();
  looksLeft = Number.POSITIVE_INFINITY;
  host = await createTestHost({}, {}, undefined, undefined, undefined, {
    isRevoked: (flag) => --looksLeft < 0 || revoked.has(flag),
  });
  sessions = new TestSessions(host.host);
});
afterEach(() => host.close());

const open = () => sessions.opened();
const flag = (url: string, agoMs = 0) => ({ url, madeMs: Date.now() - agoMs });
const codes = (outcomes: readonly Outcome[]) =>
  outcomes.map((outcome) => ('ok' in outcome ? 'ok' : outcome.error.properties.code));
const keys = () => host.run(async (state) => [...(await state.storage.list()).keys()]);

test('[CANCEL2] calls of a message that were cancelled while they waited are not made', async () => {
  const session = await open();
  revoked.add('blob:b');
  const outcomes = await sessions.execute(session, [
    { ...put('a'), flag: flag('blob:a', 5000) },
    { ...put('b'), flag: flag('blob:b', 5000) },
    put('c'),
  ]);
  expect(codes(outcomes)).toEqual(['ok', 'CANCELLED', 'ok']);
  expect(await keys()).toEqual(['a', 'c']);
  expect(host.host.cancellations.size).toBe(0);
});

test('[CANCEL2] a cancellation that arrives while the object is opened is heeded', async () => {
  const session = await open();
  await host.host.evict({ className: null, id: idOfStorage('object') });
  const executing = sessions.execute(session, [{ ...put('a'), flag: flag('blob:x') }]);
  await sessions.cancel(['blob:x']);
  expect(codes(await executing)).toEqual(['CANCELLED']);
  expect(await keys()).toEqual([]);
});

test('[CANCEL2] an import that has waited is not made', async () => {
  const session = await open();
  revoked.add('blob:x');
  const database = new Uint8Array(0);
  const outcomes = await sessions.execute(session, [
    { op: 'importDatabase', database, wal: null, flag: flag('blob:x', 5000) },
  ]);
  expect(codes(outcomes)).toEqual(['CANCELLED']);
});

test('[CANCEL2] calls that wait for the transaction of another are cancelled by a message', async () => {
  const [one, other] = [await open(), await open()];
  const [begun] = await sessions.execute(one, [begin()]);
  const txn = (begun as { ok: number }).ok;
  const waiting = [
    sessions.execute(other, [{ ...put('a'), flag: flag('blob:x') }, put('b')]),
    sessions.execute(other, [{ ...begin(), flag: flag('blob:x') }]),
  ];
  await host.turns(3);
  await sessions.cancel(['blob:x']);
  await sessions.execute(one, [{ op: 'commit', txn }]);
  expect(codes((await Promise.all(waiting)).flat())).toEqual(['CANCELLED', 'ok', 'CANCELLED']);
  expect(await keys()).toEqual(['b']);
  // The transaction that was cancelled holds nobody up.
  expect(codes(await sessions.execute(one, [begin()]))).toEqual(['ok']);
  expect(host.host.cancellations.size).toBe(0);
});

test.each([
  ['a read', `${ENDLESS} SELECT max(i) FROM c`],
  ['a write', `INSERT INTO t ${ENDLESS} SELECT i FROM c`],
])('[CANCEL3] [CANCEL4] %s that runs is stopped when its flag is gone', async (_, query) => {
  const session = await open();
  await sessions.execute(session, [exec('CREATE TABLE t(i); INSERT INTO t VALUES (0)')]);
  looksLeft = 1;
  const outcomes = await sessions.execute(session, [
    put('before'),
    { ...exec(query), flag: flag('blob:x') },
    put('after'),
  ]);
  expect(codes(outcomes)).toEqual(['ok', 'CANCELLED', 'ok']);
  const [count] = await sessions.execute(session, [exec('SELECT count(*) FROM t')]);
  expect(count).toMatchObject({ ok: { rows: [[1]] } });
  expect(await keys()).toEqual(['after', 'before']);
});

test('[CANCEL3] a statement of a call without a flag is not asked for', async () => {
  const session = await open();
  looksLeft = 0;
  const finite = `${ENDLESS} SELECT max(i) FROM (SELECT i FROM c LIMIT 300000)`;
  expect(codes(await sessions.execute(session, [exec(finite)]))).toEqual(['ok']);
  expect(looksLeft).toBe(0);
});
