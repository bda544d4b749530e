import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { idOfStorage } from '../../../src/shared/contract/object-id.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import { serialize } from '../../../src/shared/values/encode.ts';
import type { WireAddress } from '../../../src/shared/wire/address.ts';
import type { Outcome } from '../../../src/shared/wire/errors-on-wire.ts';
import type { Call } from '../../../src/shared/wire/operations.ts';
import type { SessionId } from '../../../src/shared/wire/protocol.ts';
import type { RowBatch } from '../../../src/shared/wire/results.ts';
import { PageSessions } from './page-sessions.ts';

let transactions = 0;
/** The beginning of another transaction. */
const begin = () => ({ op: 'begin', number: ++transactions }) as const;

let host: TestHost;
let sessions: PageSessions;
let timeouts: (() => void)[];
/** The delay of each timeout. */
let delaysMs: number[];
/** Calls that are neither over nor cancelled. */
let running: Set<() => void>;

beforeEach(async () => {
  host = await createTestHost();
  timeouts = [];
  delaysMs = [];
  running = new Set();
  sessions = new PageSessions(host.host, (delayMs, task) => {
    timeouts.push(task);
    delaysMs.push(delayMs);
    running.add(task);
    return () => running.delete(task);
  });
});
afterEach(() => host.close());

async function open(name = 'object'): Promise<SessionId> {
  const outcome = await sessions.open(name);
  if ('error' in outcome) throw new Error(outcome.error.message);
  return outcome.ok;
}

async function call(session: SessionId, request: Call): Promise<unknown> {
  const [outcome] = await sessions.execute(session, [request]);
  return unwrap(outcome!);
}

function unwrap(outcome: Outcome): unknown {
  if ('error' in outcome)
    throw Object.assign(new Error(outcome.error.message), outcome.error.properties);
  return outcome.ok;
}

const value = (text: string) => serialize(text);
const put = (key: string, text: string, txn?: number): Call => ({
  op: 'put',
  entries: [[key, value(text)]],
  unconfirmed: false,
  ...(txn !== undefined && { txn }),
});
const get = (key: string): Call => ({ op: 'get', keys: [key] });

describe('sessions of pages', () => {
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
      const outcome = await sessions.open(target((await fork(null)).id));
      if ('error' in outcome) throw new Error(outcome.error.message);
      await sessions.close(outcome.ok);
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
      { op: 'exec', query: 'SELECT * FROM missing', bindings: [], rowCount: 10 },
      get('a'),
    ]);
    expect(outcomes[0]).toEqual({ ok: null });
    expect(outcomes[1]).toMatchObject({ error: { properties: { code: 'SQL' } } });
    expect(outcomes[2]).toEqual({ ok: [value('x')] });
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
    let batch = (await call(session, {
      op: 'exec',
      query,
      bindings: [],
      rowCount: 10,
    })) as Required<RowBatch>;
    const rows = [...batch.rows];
    const sizes = [batch.rows.length];
    while (batch.cursor !== null) {
      batch = (await call(session, {
        op: 'rows',
        cursor: batch.cursor,
        rowCount: 10,
      })) as Required<RowBatch>;
      rows.push(...batch.rows);
      sizes.push(batch.rows.length);
    }
    expect(sizes).toEqual([10, 10, 5]);
    expect(rows.map(([x]) => x)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
    expect(batch.columnNames).toEqual(['x']);
  });

  test('[SES3] a batch of large rows ends with the row that makes it 1 MiB', async () => {
    const session = await open();
    const query =
      'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9) ' +
      "SELECT CASE WHEN x % 2 THEN zeroblob(262144) ELSE replace(hex(zeroblob(131072)), '0', 'a') END FROM c";
    const exec = { op: 'exec', query, bindings: [], rowCount: 100 } as const;
    const sizes: number[] = [];
    let batch = (await call(session, exec)) as Required<RowBatch>;
    sizes.push(batch.rows.length);
    while (batch.cursor !== null) {
      batch = (await call(session, {
        op: 'rows',
        cursor: batch.cursor,
        rowCount: 100,
      })) as Required<RowBatch>;
      sizes.push(batch.rows.length);
    }
    expect(sizes).toEqual([4, 4, 1]);
  });

  test.for<[string, (cursor: number) => Call]>([
    ['that was closed', (cursor) => ({ op: 'closeCursor', cursor })],
    ['of an object that was reset', () => ({ op: 'abort', reason: 'test' })],
  ])('[SES4] a cursor %s is CURSOR_CLOSED', async ([, end]) => {
    const session = await open();
    const query = 'SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3';
    const exec = { op: 'exec', query, bindings: [], rowCount: 1 } as const;
    const cursor = ((await call(session, exec)) as RowBatch).cursor!;
    await call(session, end(cursor));
    await expect(call(session, { op: 'rows', cursor, rowCount: 1 })).rejects.toMatchObject({
      code: 'CURSOR_CLOSED',
    });
  });

  test("[SES5] a transaction commits its session's writes meanwhile", async () => {
    const session = await open();
    const txn = (await call(session, begin())) as number;
    await call(session, put('a', 'with txn', txn));
    await call(session, put('b', 'joined'));
    await call(session, { op: 'commit', txn });
    expect(await call(session, { op: 'get', keys: ['a', 'b'] })).toEqual([
      value('with txn'),
      value('joined'),
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
    expect(await call(other, get('b'))).toEqual([value('joined')]);
  });

  test('[PTX7] a write of the handle that was answered is undone with the transaction', async () => {
    const session = await open();
    await call(session, put('a', 'before'));
    const txn = (await call(session, begin())) as number;
    await call(session, put('a', 'joined'));
    await call(session, { op: 'rollback', txn });
    expect(await call(session, get('a'))).toEqual([value('before')]);
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
    expect(delaysMs).toEqual([29_000]); // its page gives it up after 30 s
    timeouts.at(-1)!();
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
      expect(await read).toEqual([value('held')]);
      await call(other, put('a', 'free'));
      expect(timeouts.length).toBe(1); // the holder's
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

  test('[SES9] a query that waits for its turn when its handle is closed leaves no cursor', async () => {
    const [holder, closed] = [await open(), await open()];
    const made = 'CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (3)';
    await call(holder, { op: 'exec', query: made, bindings: [], rowCount: 1 });
    const txn = (await call(holder, begin())) as number;
    const query = 'SELECT x FROM t';
    const rows = sessions.execute(closed, [{ op: 'exec', query, bindings: [], rowCount: 1 }]);
    await host.turns(2);
    await sessions.close(closed);
    await call(holder, { op: 'commit', txn });
    expect(await rows).toMatchObject([{ ok: { cursor: null } }]);
    await call(holder, { op: 'exec', query: 'DROP TABLE t', bindings: [], rowCount: 1 });
    const instance = await host.host.instance(host.address());
    await host.advance(20_000);
    expect(instance.hasEnded).toBe(true);
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
      const mine = [value('mine')];
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
      expect(await call(session, get('a'))).toEqual([value('before')]);
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
    expect(await call(other, get('a'))).toEqual([value('inside')]);
  });

  test('[SES8] the time of a transaction that a reset ended is not counted on', async () => {
    const session = await open();
    await call(session, begin());
    const instance = await host.host.instance(host.address());
    instance.reset(new Error('mine'));
    expect(() => timeouts.at(-1)!()).not.toThrow();
    await call(session, put('a', 'after'));
    expect(await call(session, get('a'))).toEqual([value('after')]);
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
      expect(running.size).toBe(1);
      await end(session, txn);
      await host.turns(2);
      expect(running.size).toBe(0);
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

  test('[SES11] an object with an open cursor or transaction is not evicted, an idle one is', async () => {
    const session = await open();
    const query = 'SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3';
    const { cursor } = (await call(session, {
      op: 'exec',
      query,
      bindings: [],
      rowCount: 1,
    })) as RowBatch;
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
    expect(await call(session, get('a'))).toEqual([value('kept')]);
  });

  test('[SES10] abort drops the unconfirmed', async () => {
    const session = await open();
    await call(session, put('a', 'confirmed'));
    host.holdFlushes();
    await call(session, { ...put('a', 'unconfirmed'), unconfirmed: true } as Call);
    expect(await call(session, get('a'))).toEqual([value('unconfirmed')]);
    const aborted = call(session, { op: 'abort', reason: 'test' });
    await host.turns(5);
    host.releaseFlushes();
    await aborted;
    expect(await call(session, get('a'))).toEqual([value('confirmed')]);
  });

  test('[SES10] a restore that was asked for is applied by abort', async () => {
    const session = await open();
    await call(session, put('a', 'first'));
    const bookmark = (await call(session, { op: 'getCurrentBookmark' })) as string;
    await call(session, put('a', 'second'));
    const undo = (await call(session, { op: 'onNextSessionRestoreBookmark', bookmark })) as string;
    expect(undo > bookmark).toBe(true);
    await call(session, { op: 'abort', reason: 'restore' });
    expect(await call(session, get('a'))).toEqual([value('first')]);
    await call(session, { op: 'onNextSessionRestoreBookmark', bookmark: undo });
    await call(session, { op: 'abort', reason: 'undo' });
    expect(await call(session, get('a'))).toEqual([value('second')]);
  });

  test('[PITR9] a restore that was requested is taken back, also durably, and only once', async () => {
    const session = await open();
    const cancel = () => call(session, { op: 'cancelRestore' });
    const request = (bookmark: string) =>
      call(session, { op: 'onNextSessionRestoreBookmark', bookmark });
    expect(await cancel()).toBe(false);
    await call(session, put('a', 'first'));
    const bookmark = (await call(session, { op: 'getCurrentBookmark' })) as string;
    await call(session, put('a', 'second'));
    await request(bookmark);
    await request(bookmark);
    expect(await cancel()).toBe(true);
    expect(await cancel()).toBe(false);
    await call(session, { op: 'abort', reason: 'restart' });
    expect(await call(session, get('a'))).toEqual([value('second')]);
    // In the batch of its request, which no flush has written yet.
    const together = await sessions.execute(session, [
      { op: 'onNextSessionRestoreBookmark', bookmark },
      { op: 'cancelRestore' },
    ]);
    expect(unwrap(together[1]!)).toBe(true);
    await call(session, { op: 'abort', reason: 'restart' });
    expect(await call(session, get('a'))).toEqual([value('second')]);
    // Changes of the restart stay.
    await request(bookmark);
    await call(session, { op: 'abort', reason: 'restart' });
    expect(await cancel()).toBe(false);
    expect(await call(session, get('a'))).toEqual([value('first')]);
  });

  test('[PITR9] a restore is not taken back inside a transaction of the handle', async () => {
    const session = await open();
    await call(session, put('a', 'first'));
    const bookmark = (await call(session, { op: 'getCurrentBookmark' })) as string;
    await call(session, put('a', 'second'));
    await call(session, { op: 'onNextSessionRestoreBookmark', bookmark });
    const txn = (await call(session, begin())) as number;
    const refused = call(session, { op: 'cancelRestore' });
    await expect(refused).rejects.toMatchObject({ code: 'TRANSACTION_NESTING' });
    await call(session, { op: 'commit', txn });
    await call(session, { op: 'abort', reason: 'restart' });
    expect(await call(session, get('a'))).toEqual([value('first')]);
  });

  test('[PITR5] a session that is closed in the middle of a restore leaves it done or not begun', {
    tags: 'long',
  }, async () => {
    const other = await open();
    const states = new Set<string>();
    for (let step = 0; step < 40; step++) {
      await call(other, put('a', 'first'));
      const bookmark = (await call(other, { op: 'getCurrentBookmark' })) as string;
      await call(other, put('a', 'second'));
      const session = await open();
      const restored = call(session, { op: 'restore', bookmark, timeMs: null }).catch(() => {});
      for (let i = 0; i < step; i++) await null;
      await sessions.close(session);
      // Everything that is written from now on stays, whatever became of the restore.
      await host.turns(step % 3);
      const written = put('later', String(step));
      await call(other, written).catch(() => call(other, written));
      await restored;
      const before = await contents(other);
      expect(before).toEqual([expect.stringMatching(/^(first|second)$/), String(step)]);
      await host.host.evict(host.address());
      expect(await contents(other)).toEqual(before);
      states.add(before[0]!);
    }
    expect(states.has('first')).toBe(true);
  });

  test('[PITR6] restores at once follow each other, and each gives the bookmark that undoes it', async () => {
    const [one, two, three] = [await open(), await open(), await open()];
    const bookmarks: string[] = [];
    for (const text of ['1', '2', '3']) {
      await call(one, put('a', text));
      bookmarks.push((await call(one, { op: 'getCurrentBookmark' })) as string);
    }
    await call(one, put('a', 'now'));
    const restore = (session: SessionId, bookmark: string) =>
      call(session, { op: 'restore', bookmark, timeMs: null }) as Promise<string>;
    const undos = await Promise.all(
      [one, two, three].map((session, i) => restore(session, bookmarks[i]!)),
    );
    expect(new Set(undos).size).toBe(3);
    const inOrder = [...undos].sort();
    const shown: string[] = [(await contents(one))[0]!];
    for (const undo of inOrder.reverse()) {
      await restore(two, undo);
      shown.push((await contents(one))[0]!);
    }
    const last = undos.indexOf(inOrder[0]!);
    expect(shown[0]).toBe(String(last + 1));
    expect([...shown].sort()).toEqual(['1', '2', '3', 'now']);
    expect(shown.at(-1)).toBe('now');
  });

  test('[PITR8] calls of other handles that have not begun when the object restarts run at its next instance', async () => {
    const [one, two] = [await open(), await open()];
    await call(one, put('a', 'old'));
    const bookmark = (await call(one, { op: 'getCurrentBookmark' })) as string;
    await call(one, put('a', 'new'));
    const restored = call(one, { op: 'restore', bookmark, timeMs: null });
    const written: Promise<unknown>[] = [];
    let isDone = false;
    void restored.then(() => {
      isDone = true;
    });
    // Some arrive before the restore has the object for itself, some while it has, some while the object starts.
    for (let turn = 0; !isDone && turn < 1000; turn++) {
      written.push(call(two, put(`b${turn}`, 'kept')));
      if (turn % 40 < 39) await null;
      else await host.turns(1);
    }
    await restored;
    const results = await Promise.allSettled(written);
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(await call(two, get('a'))).toEqual([value('old')]);
    // The restore has taken back those before it, and none after the first one that stayed.
    const stayed: boolean[] = [];
    for (const turn of written.keys()) {
      const [bytes] = (await call(two, get(`b${turn}`))) as unknown[];
      stayed.push(bytes !== null);
    }
    const first = stayed.indexOf(true);
    expect(stayed).toEqual(stayed.map((_, turn) => turn >= first));
    expect(stayed.filter(Boolean).length).toBeGreaterThan(1);
  });

  test('[PITR6] a restore waits for a transaction, and is refused within one', async () => {
    const [one, two] = [await open(), await open()];
    await call(one, put('a', 'first'));
    const bookmark = (await call(one, { op: 'getCurrentBookmark' })) as string;
    const txn = (await call(one, begin())) as number;
    await call(one, put('a', 'second', txn));
    await expect(call(one, { op: 'restore', bookmark, timeMs: null })).rejects.toMatchObject({
      code: 'TRANSACTION_NESTING',
    });
    const restored = call(two, { op: 'restore', bookmark, timeMs: null }) as Promise<string>;
    await host.turns(3);
    await call(one, { op: 'commit', txn });
    const undo = await restored;
    expect(await contents(one)).toEqual(['first']);
    await call(one, { op: 'restore', bookmark: undo, timeMs: null });
    expect(await contents(one)).toEqual(['second']);
    await expect(call(one, { op: 'restore', bookmark: null, timeMs: null })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  async function contents(session: SessionId): Promise<string[]> {
    const range = { start: new Uint8Array(), end: null, limit: null, reverse: false };
    const entries = (await call(session, { op: 'list', range })) as [string, Uint8Array][];
    return entries.map(([, bytes]) => deserialize(bytes) as string);
  }
});
