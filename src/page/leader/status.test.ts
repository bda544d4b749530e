// The reports of handles and connections: their state, and their writes.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { withSignal } from '../../shared/calls/stubs/with-signal.ts';
import type { ConnectionStatus } from '../../shared/contract/connection-status.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { RemoteStorage } from '../../shared/contract/storage.ts';
import { OTHERS_WAIT_MS } from './leader-search.ts';

let tabs: FakeTabs;
let first: FakeTab;
let second: FakeTab;

beforeEach(() => {
  tabs = new FakeTabs(runCandidate);
  first = tabs.tab();
  second = tabs.tab();
});

afterEach(() => tabs.close());

/** The states that a listener saw, without repetition. */
function statesOf(status: ConnectionStatus): string[] {
  const states: string[] = [status.state];
  status.addEventListener('statechange', () => {
    if (states.at(-1) !== status.state) states.push(status.state);
  });
  return states;
}

test('[STATE1] a handle leads or follows', async () => {
  const mine = await first.open();
  const theirs = await second.open();
  expect([mine.state, theirs.state]).toEqual(['leading', 'following']);
  expect([mine.stateReason, theirs.stateReason]).toEqual([null, null]);
});

test('[STATE1] so does a connection, before and after the leading tab closes', async () => {
  await first.open();
  const objects = await second.connect();
  expect(objects.state).toBe('following');
  const removed = () => expect.fail('it was removed');
  objects.addEventListener('statechange', removed);
  objects.removeEventListener('statechange', removed);
  const states = statesOf(objects);
  first.close();
  await vi.waitFor(() => expect(objects.state).toBe('leading'));
  expect(states).toEqual(['following', 'connecting', 'leading']);
});

test('[STATE1] a lost connection says why, then finds the next leader without a call', async () => {
  await first.open();
  const third = tabs.tab();
  const theirs = await second.open();
  const others = await third.open();
  const reasons: unknown[] = [];
  theirs.addEventListener('statechange', () => {
    if (theirs.state === 'connecting') reasons.push(theirs.stateReason);
  });
  first.close();
  await vi.waitFor(() => {
    expect([theirs.state, others.state].sort()).toEqual(['following', 'leading']);
  });
  expect(reasons[0]).toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect(theirs.stateReason).toBe(null);
});

test('[STATE2] a search that fails is lost, with the reason; the next call looks again', async () => {
  const storage = await first.open();
  await storage.put('a', 1);
  first.script = 'no script';
  first.terminateWorker();
  await turns();
  expect(storage.state).toBe('connecting');
  first.advance(OTHERS_WAIT_MS);
  await turns();
  expect(storage.state).toBe('lost');
  expect(storage.stateReason).toMatchObject({ code: 'WORKER_FAILED' });
  first.script = 'serves';
  expect(await storage.get('a')).toBe(1);
  expect([storage.state, storage.stateReason]).toEqual(['leading', null]);
});

test('[STATE2] cleared site data, a closed handle and a closed connection are lost', async () => {
  const storage = await first.open();
  const objects = await second.connect();
  await storage.close();
  expect(storage.state).toBe('lost');
  expect(storage.stateReason).toMatchObject({ code: 'CONNECTION_CLOSED' });
  const closing = await first.open();
  first.leadingHost.lose(storageError('SITE_DATA_CLEARED', 'cleared'));
  await turns();
  for (const { state, stateReason } of [closing, objects]) {
    expect([state, stateReason]).toEqual([
      'lost',
      expect.objectContaining({ code: 'SITE_DATA_CLEARED' }),
    ]);
  }
  const other = await tabs
    .tab()
    .connect()
    .catch(() => null);
  other?.close();
  expect(other?.state ?? 'lost').toBe('lost');
});

test('[STATE2] a handle that was closed hears of nothing more', async () => {
  const storage = await second.open();
  await storage.close();
  await turns();
  let events = 0;
  storage.addEventListener('statechange', () => {
    events += 1;
  });
  second.terminateWorker();
  await turns();
  expect(events).toBe(0);
});

test('[STATE3] writes are pending until they are answered, and saved then', async () => {
  const storage = await first.open();
  first.advance(1000);
  expect([storage.pendingWrites, storage.savedAt]).toEqual([0, null]);
  await storage.get('a');
  expect(storage.savedAt).toBe(null);
  const releaseAnswers = first.leadingHost.holdAnswers();
  const writes = [storage.put('a', 1), storage.put('b', 1), storage.delete('c')];
  const read = storage.get('a');
  expect(storage.pendingWrites).toBe(3);
  await turns();
  first.advance(500);
  releaseAnswers();
  await Promise.all([...writes, read]);
  await turns();
  expect([storage.pendingWrites, storage.savedAt]).toEqual([0, 1500]);
});

test('[STATE3] the answer of one write saves nothing while another is pending', async () => {
  const storage = await first.open();
  const releases: (() => void)[] = [];
  const writes: Promise<void>[] = [];
  for (const key of ['a', 'b']) {
    releases.push(first.leadingHost.holdAnswers());
    writes.push(storage.put(key, 1));
    await turns();
  }
  first.advance(1000);
  releases[0]!();
  await writes[0];
  await turns();
  expect([storage.pendingWrites, storage.savedAt]).toEqual([1, null]);
  first.advance(500);
  releases[1]!();
  await writes[1];
  await turns();
  expect([storage.pendingWrites, storage.savedAt]).toEqual([0, 1500]);
});

test('[STATE3] a write that fails, or is not confirmed, does not count as saved', async () => {
  const storage = await first.open();
  first.leadingHost.holdAnswers();
  const write = storage.put('a', 1).catch((error) => error.code);
  await turns();
  first.terminateWorker();
  expect(await write).toBe('CONNECTION_CLOSED');
  await storage.put('b', 1, { allowUnconfirmed: true });
  await turns();
  expect([storage.pendingWrites, storage.savedAt]).toEqual([0, null]);
  await storage.sync();
  await turns();
  expect(storage.savedAt).not.toBe(null);
});

test('[STATE3] a transaction is one pending write, from its start to its end', async () => {
  const storage = await first.open();
  const counts: number[] = [];
  await storage.transaction(async (txn) => {
    await txn.put('a', 1);
    counts.push(storage.pendingWrites);
    await storage.put('b', 1);
    counts.push(storage.pendingWrites);
    expect(storage.savedAt).toBe(null);
  });
  await turns();
  expect([counts, storage.pendingWrites, storage.savedAt]).toEqual([[1, 1], 0, 0]);
});

test('[STATE3] a statement at an earlier moment, which cannot write, is not pending', async () => {
  const storage = await first.open();
  const moment = await storage.at('bookmark');
  const rows = moment.sql.exec('rows 1').toArray();
  expect(storage.pendingWrites).toBe(0);
  expect(await rows).toHaveLength(1);
  expect(storage.savedAt).toBe(null);
});

test.for<[string, (storage: RemoteStorage, rows: AsyncIterable<never>) => Promise<unknown>]>([
  ['execMany', (storage, rows) => storage.sql.execMany('INSERT INTO t VALUES (?)', rows)],
  ['putMany', (storage, rows) => storage.kv.putMany(rows)],
])(
  '[STATE3] %s is one pending write while it takes its rows, and sync() waits for it',
  async ([, run]) => {
    const storage = await first.open();
    let yieldRow = () => {};
    async function* rows() {
      await new Promise<void>((resolve) => {
        yieldRow = resolve;
      });
      yield ['a', 1] as never;
    }
    const counts = new Set<number>();
    storage.addEventListener('statechange', () => counts.add(storage.pendingWrites));
    const bulk = run(storage, rows());
    expect([storage.pendingWrites, storage.savedAt]).toEqual([1, null]);
    const synced = storage.sync();
    await turns();
    expect(first.leadingHost.operations).toEqual([]);
    expect([storage.pendingWrites, storage.savedAt]).toEqual([1, null]);
    yieldRow();
    await Promise.all([bulk, synced]);
    await turns();
    expect(first.leadingHost.operations).toEqual([expect.stringMatching(/Many$/), 'sync']);
    expect([storage.pendingWrites, storage.savedAt, [...counts]]).toEqual([0, 0, [1, 2, 0]]);
  },
);

test('[STATE3] a sync() that waits for rows ends by an abort, or with its handle', async () => {
  const storage = await first.open();
  async function* rows() {
    await new Promise(() => {});
    yield ['a', 1] as never;
  }
  const bulk = storage.kv.putMany(rows()).catch((error) => error);
  const enough = new AbortController();
  const cancelled = withSignal(storage, enough.signal).sync();
  enough.abort(new Error('enough'));
  await expect(cancelled).rejects.toThrow('enough');
  const synced = expect(storage.sync()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await storage.close();
  await synced;
  expect(await bulk).toMatchObject({ code: 'CONNECTION_CLOSED' });
  await turns();
  expect(storage.pendingWrites).toBe(0);
});

test('[STATE3] each handle counts its own writes, and a turn has one event at most', async () => {
  const [mine, other] = [await first.open('a'), await first.open('b')];
  let events = 0;
  mine.addEventListener('statechange', () => {
    events += 1;
  });
  const writes = [mine.put('a', 1), mine.put('b', 1), mine.put('c', 1)];
  expect([mine.pendingWrites, other.pendingWrites]).toEqual([3, 0]);
  await Promise.all(writes);
  await turns();
  expect(events).toBe(2);
});

describe('the bounds of the history', () => {
  test('[HIST11] of the tab whose worker leads are in force, until another one leads', async () => {
    const [leading, waiting] = [tabs.tab(), tabs.tab()];
    const one = await leading.open('object', { history: { days: 7 } });
    const two = await waiting.open('object', { history: { bytes: 5 } });
    expect([one.state, two.state]).toEqual(['leading', 'following']);
    expect(leading.workers[0]?.history).toEqual({ days: 7 });
    expect(waiting.workers[0]?.history).toBeUndefined();
    leading.close();
    await two.get('key');
    expect(waiting.workers[0]?.history).toEqual({ bytes: 5 });
  });

  test('[HIST11] of a page that uses a directory cannot be changed; omitted, they are the same', async () => {
    const tab = tabs.tab();
    await tab.open('object', { history: { days: 7, bytes: 5 } });
    await tab.open('other', { history: { days: 7, bytes: 5 } });
    await tab.open('third');
    for (const history of [{ days: 6, bytes: 5 }, { days: 7 }, { days: 7, bytes: 6 }]) {
      await expect(tab.open('other', { history })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/^openStorage: history\.(days|bytes) differs/),
      });
    }
    const silent = tabs.tab();
    await silent.open();
    expect(silent.workers.map(({ history }) => history)).toEqual([undefined]);
  });
});

describe('the limits of the worker', () => {
  test('[LIM6] of the tab whose worker leads are in force, until another one leads', async () => {
    const [leading, waiting] = [tabs.tab(), tabs.tab()];
    const one = await leading.open('object', { limits: { importMs: 60_000 } });
    const two = await waiting.open('object', { limits: { importMs: 5000 } });
    expect([one.state, two.state]).toEqual(['leading', 'following']);
    expect(leading.workers[0]?.limits).toEqual({ importMs: 60_000 });
    leading.close();
    await two.get('key');
    expect(waiting.workers[0]?.limits).toEqual({ importMs: 5000 });
  });

  test('[LIM6] of a page that uses a directory cannot be changed; omitted, they are the same', async () => {
    const tab = tabs.tab();
    await tab.open('object', { limits: { importMs: 60_000 } });
    await tab.open('other', { limits: { importMs: 60_000 } });
    await tab.open('third');
    for (const limits of [{ importMs: 1 }, {}]) {
      await expect(tab.open('other', { limits })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/^openStorage: limits\.importMs differs/),
      });
    }
  });
});

describe('the medium', () => {
  test('[MEDIUM1] is known from the first connection on, and after the handle was closed', async () => {
    const one = await tabs.tab().open();
    expect(one.medium).toBe('opfs');
    const two = await tabs.tab().open();
    expect([two.state, two.medium]).toEqual(['following', 'opfs']);
    await two.close();
    expect([two.state, two.medium]).toEqual(['lost', 'opfs']);
  });

  test.each([
    ['memory', [null, 'opfs', 'indexeddb'], ['memory']],
    ['opfs', ['memory', 'indexeddb'], ['opfs', null]],
    ['indexeddb', ['memory', 'opfs'], ['indexeddb', null]],
  ] as const)(
    '[MEDIUM3] of a tab that leads on %s is never another one than was asked for',
    async (medium, others, fitting) => {
      const leading = await tabs.tab().open('object', { medium });
      expect(leading.medium).toBe(medium);
      for (const other of others) {
        const refused = tabs.tab().open('object', { medium: other });
        await expect(refused, String(other)).rejects.toMatchObject({ code: 'MEDIUM_CONFLICT' });
      }
      for (const wanted of fitting) {
        const same = await tabs.tab().open('object', { medium: wanted });
        expect([same.state, same.medium]).toEqual(['following', medium]);
      }
    },
  );

  test('[MEDIUM3] of a page that uses a directory cannot be changed; omitted, it is the same', async () => {
    const tab = tabs.tab();
    await tab.open('object', { medium: 'indexeddb' });
    expect((await tab.open('other')).medium).toBe('indexeddb');
    const refused = tab.open('other', { medium: 'opfs' });
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('medium'),
    });
  });
});
