// The transactions of pages: the calls that belong to one, the others that wait for it, and its end by its page, a time limit,
// or a reset.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { begin, get, put, TestSessions } from '../../../packages/testing/worker/test-sessions.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import type { SessionId } from '../../../src/shared/wire/protocol.ts';

let host: TestHost;
let sessions: TestSessions;

beforeEach(async () => {
  host = await createTestHost();
  sessions = new TestSessions(host.host);
});
afterEach(() => host.close());

const open = () => sessions.opened();
const call = (session: SessionId, request: Call) => sessions.call(session, request);

test("[SES5] a transaction commits its session's writes meanwhile", async () => {
  const session = await open();
  const txn = (await call(session, begin())) as number;
  await call(session, put('a', 'with txn', txn));
  await call(session, put('b', 'joined'));
  await call(session, { op: 'commit', txn });
  expect(await call(session, { op: 'get', keys: ['a', 'b'] })).toEqual([
    serialize('with txn'),
    serialize('joined'),
  ]);
});

test('[PTX7] a write in a transaction is answered at once, the commit when it is on disk', async () => {
  const session = await open();
  const other = await open();
  const txn = (await call(session, begin())) as number;
  host.holdFlushes();
  await call(session, put('a', 'with txn', txn));
  await call(session, put('b', 'joined'));
  const before = host.durable();
  let isCommitted = false;
  const commit = call(session, { op: 'commit', txn }).then(() => (isCommitted = true));
  await host.turns(10);
  expect(isCommitted).toBe(false);
  expect(host.durable()).toBe(before);
  host.releaseFlushes();
  await commit;
  expect(host.durable()).toBe(host.committed());
  expect(host.durable()).toBeGreaterThan(before);
  expect(await call(other, get('b'))).toEqual([serialize('joined')]);
});

test('[PTX7] a write of the handle that was answered is undone with the transaction', async () => {
  const session = await open();
  await call(session, put('a', 'before'));
  const txn = (await call(session, begin())) as number;
  await call(session, put('a', 'joined'));
  await call(session, { op: 'rollback', txn });
  expect(await call(session, get('a'))).toEqual([serialize('before')]);
});

test('[SES5] calls of another session wait until the transaction ends', async () => {
  const session = await open();
  const other = await open();
  const txn = (await call(session, begin())) as number;
  await call(session, put('a', 'inside', txn));
  let answered = false;
  const read = call(other, get('a')).then((result) => {
    answered = true;
    return result;
  });
  await host.turns(10);
  expect(answered).toBe(false);
  await call(session, { op: 'rollback', txn });
  expect(await read).toEqual([null]);
});

test('[SES7] operations of an ended transaction fail', async () => {
  const session = await open();
  const txn = (await call(session, begin())) as number;
  await call(session, { op: 'commit', txn });
  await expect(call(session, put('a', 'late', txn))).rejects.toMatchObject({
    code: 'TRANSACTION_ENDED',
  });
});

test('[SES8] a transaction open for too long is undone, and says so', async () => {
  const session = await open();
  const other = await open();
  const txn = (await call(session, begin())) as number;
  await call(session, put('a', 'slow', txn));
  expect(sessions.limits.map(({ delayMs }) => delayMs)).toEqual([29_000]); // its page gives it up after 30 s
  sessions.limits.at(-1)!.expire();
  await expect(call(session, { op: 'commit', txn })).rejects.toMatchObject({
    code: 'TRANSACTION_TIMEOUT',
  });
  expect(await call(other, get('a'))).toEqual([null]);
});

test('[SES9] closing a handle undoes its open transaction and frees the object', async () => {
  const session = await open();
  const other = await open();
  const txn = (await call(session, begin())) as number;
  await call(session, put('a', 'inside', txn));
  const read = call(other, get('a'));
  await sessions.close(session);
  expect(await read).toEqual([null]);
  await expect(call(session, get('a'))).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
});

describe('[SES9] a transaction that waits for its turn', () => {
  test('never opens when its handle was closed meanwhile', async () => {
    const [holder, closed, other] = [await open(), await open(), await open()];
    const txn = (await call(holder, begin())) as number;
    const begun = sessions.execute(closed, [begin()]);
    const read = call(other, get('a'));
    await host.turns(2);
    await sessions.close(closed);
    await call(holder, put('a', 'held', txn));
    await call(holder, { op: 'commit', txn });
    expect(await begun).toMatchObject([{ error: { properties: { code: 'CONNECTION_CLOSED' } } }]);
    expect(await read).toEqual([serialize('held')]);
    await call(other, put('a', 'free'));
    expect(sessions.limits.length).toBe(1); // the holder's
  });

  test('never opens when its handle is closed in any turn of the way', async () => {
    for (let turns = 0; turns < 6; turns++) {
      const [closed, other] = [await open(), await open()];
      const begun = sessions.execute(closed, [begin()]);
      await host.turns(turns);
      const closing = sessions.close(closed);
      await call(other, put('a', 'free'));
      await closing;
      const [outcome] = await begun;
      // A transaction that had opened before is undone by the closing.
      if ('error' in outcome!) {
        expect(outcome.error.properties.code).toBe('CONNECTION_CLOSED');
      }
    }
  });
});

describe('[SES14] calls of a handle that arrive before its transaction is open', () => {
  test('wait for it, in order, and for nothing of others', async () => {
    const holder = await open();
    const session = await open();
    const held = (await call(holder, begin())) as number;
    const beginning = begin();
    const txn = beginning.number;
    const answers = [
      call(session, beginning),
      call(session, put('a', 'mine', txn)),
      call(session, { op: 'get', keys: ['a'], txn }),
      call(session, { op: 'commit', txn }),
      call(session, get('a')),
    ];
    await call(holder, put('a', 'theirs', held));
    await call(holder, { op: 'commit', txn: held });
    const mine = [serialize('mine')];
    expect(await Promise.all(answers)).toEqual([txn, null, mine, null, mine]);
  });

  test('run in it without belonging to it, as of a moment: the closure may wait for them', async () => {
    const session = await open();
    await call(session, put('a', 'before'));
    const bookmark = (await call(session, { op: 'getCurrentBookmark' })) as string;
    const atStart: Call[] = [
      { op: 'openMoment', bookmark, timeMs: null },
      { op: 'openDiff', from: bookmark, to: bookmark, skip: 0 },
      { op: 'fork', bookmark, timeMs: null, name: null, isKept: false, sends: false },
    ];
    for (const first of atStart) {
      const beginning = begin();
      const txn = beginning.number;
      const begun = call(session, beginning);
      await call(session, first);
      await call(session, put('a', 'in it', txn));
      await call(session, { op: 'rollback', txn });
      await begun;
    }
    expect(await call(session, get('a'))).toEqual([serialize('before')]);
  });

  test('are refused as it is, while another is open', async () => {
    const holder = await open();
    const session = await open();
    const held = (await call(holder, begin())) as number;
    const beginning = begin();
    const begun = call(session, beginning);
    const early = call(session, put('a', 'x', beginning.number));
    await sessions.close(session);
    await call(holder, { op: 'rollback', txn: held });
    for (const refused of [begun, early]) {
      await expect(refused).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    }
    expect(await call(holder, get('a'))).toEqual([null]);
  });

  test('reject with a reset that comes first', async () => {
    const holder = await open();
    const session = await open();
    await call(holder, begin());
    const beginning = begin();
    const begun = call(session, beginning);
    const early = call(session, put('a', 'x', beginning.number));
    await call(holder, { op: 'abort', reason: 'test' });
    for (const lost of [begun, early]) {
      await expect(lost).rejects.toMatchObject({ code: 'OBJECT_RESET' });
    }
    expect(await call(holder, get('a'))).toEqual([null]);
  });
});

test('[SES13] a second begin inside the transaction of its session is refused', async () => {
  const session = await open();
  const other = await open();
  const txn = (await call(session, begin())) as number;
  await expect(call(session, begin())).rejects.toMatchObject({
    code: 'TRANSACTION_NESTING',
  });
  await call(session, put('a', 'inside', txn));
  await call(session, { op: 'commit', txn });
  expect(await call(other, get('a'))).toEqual([serialize('inside')]);
});

test('[SES8] the time of a transaction that a reset ended is not counted on', async () => {
  const session = await open();
  await call(session, begin());
  const instance = await host.host.instance(host.address());
  instance.reset(new Error('mine'));
  expect(() => sessions.limits.at(-1)!.expire()).not.toThrow();
  await call(session, put('a', 'after'));
  expect(await call(session, get('a'))).toEqual([serialize('after')]);
});

describe('[SES8] the limit of a transaction is not waited for after', () => {
  test.for<[string, (session: SessionId, txn: number) => Promise<unknown>]>([
    ['a commit', (session, txn) => call(session, { op: 'commit', txn })],
    ['a rollback', (session, txn) => call(session, { op: 'rollback', txn })],
    ['the closing of its handle', (session) => sessions.close(session)],
    ['a reset by its page', (session) => call(session, { op: 'abort', reason: 'test' })],
    [
      'a reset by its object',
      async () => (await host.host.instance(host.address())).reset(new Error('mine')),
    ],
  ])('%s', async ([, end]) => {
    const session = await open();
    const txn = (await call(session, begin())) as number;
    await call(session, put('a', 'inside', txn));
    expect(sessions.running.size).toBe(1);
    await end(session, txn);
    await host.turns(2);
    expect(sessions.running.size).toBe(0);
  });
});

test('[SES7] an operation of a transaction that a reset ended says so', async () => {
  const session = await open();
  const txn = (await call(session, begin())) as number;
  (await host.host.instance(host.address())).reset(new Error('mine'));
  for (const op of ['commit', 'rollback'] as const) {
    await expect(call(session, { op, txn })).rejects.toMatchObject({ code: 'OBJECT_RESET' });
  }
  await expect(call(session, put('a', 'late', txn))).rejects.toMatchObject({
    code: 'OBJECT_RESET',
  });
  const next = (await call(session, begin())) as number;
  await call(session, { op: 'commit', txn: next });
});
