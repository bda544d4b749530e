// Restores that pages ask for: at once, or by the next restart, beside the calls of other handles.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import {
  begin,
  get,
  put,
  TestSessions,
  unwrap,
} from '../../../packages/testing/worker/test-sessions.ts';
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
const bookmarkOf = (session: SessionId) =>
  call(session, { op: 'getCurrentBookmark' }) as Promise<string>;
const restore = (session: SessionId, bookmark: string | null) =>
  call(session, { op: 'restore', bookmark, timeMs: null }) as Promise<string>;
const requestRestore = (session: SessionId, bookmark: string) =>
  call(session, { op: 'onNextSessionRestoreBookmark', bookmark }) as Promise<string>;
const restart = (session: SessionId) => call(session, { op: 'abort', reason: 'restart' });

test('[SES10] a restore that was asked for is applied by abort', async () => {
  const session = await open();
  await call(session, put('a', 'first'));
  const bookmark = await bookmarkOf(session);
  await call(session, put('a', 'second'));
  const undo = await requestRestore(session, bookmark);
  expect(undo > bookmark).toBe(true);
  await restart(session);
  expect(await call(session, get('a'))).toEqual([serialize('first')]);
  await requestRestore(session, undo);
  await restart(session);
  expect(await call(session, get('a'))).toEqual([serialize('second')]);
});

test('[PITR9] a restore that was requested is taken back, also durably, and only once', async () => {
  const session = await open();
  const cancel = () => call(session, { op: 'cancelRestore' });
  const request = (bookmark: string) => requestRestore(session, bookmark);
  expect(await cancel()).toBe(false);
  await call(session, put('a', 'first'));
  const bookmark = await bookmarkOf(session);
  await call(session, put('a', 'second'));
  await request(bookmark);
  await request(bookmark);
  expect(await cancel()).toBe(true);
  expect(await cancel()).toBe(false);
  await restart(session);
  expect(await call(session, get('a'))).toEqual([serialize('second')]);
  // In the batch of its request, which no flush has written yet.
  const together = await sessions.execute(session, [
    { op: 'onNextSessionRestoreBookmark', bookmark },
    { op: 'cancelRestore' },
  ]);
  expect(unwrap(together[1]!)).toBe(true);
  await restart(session);
  expect(await call(session, get('a'))).toEqual([serialize('second')]);
  // Changes of the restart stay.
  await request(bookmark);
  await restart(session);
  expect(await cancel()).toBe(false);
  expect(await call(session, get('a'))).toEqual([serialize('first')]);
});

test('[PITR9] a restore is not taken back inside a transaction of the handle', async () => {
  const session = await open();
  await call(session, put('a', 'first'));
  const bookmark = await bookmarkOf(session);
  await call(session, put('a', 'second'));
  await requestRestore(session, bookmark);
  const txn = (await call(session, begin())) as number;
  const refused = call(session, { op: 'cancelRestore' });
  await expect(refused).rejects.toMatchObject({ code: 'TRANSACTION_NESTING' });
  await call(session, { op: 'commit', txn });
  await restart(session);
  expect(await call(session, get('a'))).toEqual([serialize('first')]);
});

test('[PITR5] a session that is closed in the middle of a restore leaves it done or not begun', {
  tags: 'long',
}, async () => {
  const other = await open();
  const states = new Set<string>();
  for (let step = 0; step < 40; step++) {
    await call(other, put('a', 'first'));
    const bookmark = await bookmarkOf(other);
    await call(other, put('a', 'second'));
    const session = await open();
    const restored = restore(session, bookmark).catch(() => {});
    for (let i = 0; i < step; i++) await null;
    await sessions.close(session);
    // Everything that is written from now on stays, whatever became of the restore.
    await host.turns(step % 3);
    const written = put('later', String(step));
    await call(other, written).catch(() => call(other, written));
    await restored;
    const before = await sessions.contents(other);
    expect(before).toEqual([expect.stringMatching(/^(first|second)$/), String(step)]);
    await host.host.evict(host.address());
    expect(await sessions.contents(other)).toEqual(before);
    states.add(before[0]!);
  }
  expect(states.has('first')).toBe(true);
});

test('[PITR6] restores at once follow each other, and each gives the bookmark that undoes it', async () => {
  const [one, two, three] = [await open(), await open(), await open()];
  const bookmarks: string[] = [];
  for (const text of ['1', '2', '3']) {
    await call(one, put('a', text));
    bookmarks.push(await bookmarkOf(one));
  }
  await call(one, put('a', 'now'));
  const undos = await Promise.all(
    [one, two, three].map((session, i) => restore(session, bookmarks[i]!)),
  );
  expect(new Set(undos).size).toBe(3);
  const inOrder = [...undos].sort();
  const shown: string[] = [(await sessions.contents(one))[0]!];
  for (const undo of inOrder.reverse()) {
    await restore(two, undo);
    shown.push((await sessions.contents(one))[0]!);
  }
  const last = undos.indexOf(inOrder[0]!);
  expect(shown[0]).toBe(String(last + 1));
  expect([...shown].sort()).toEqual(['1', '2', '3', 'now']);
  expect(shown.at(-1)).toBe('now');
});

test('[PITR8] calls of other handles that have not begun when the object restarts run at its next instance', async () => {
  const [one, two] = [await open(), await open()];
  await call(one, put('a', 'old'));
  const bookmark = await bookmarkOf(one);
  await call(one, put('a', 'new'));
  const restored = restore(one, bookmark);
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
  expect(await call(two, get('a'))).toEqual([serialize('old')]);
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
  const bookmark = await bookmarkOf(one);
  const txn = (await call(one, begin())) as number;
  await call(one, put('a', 'second', txn));
  await expect(restore(one, bookmark)).rejects.toMatchObject({
    code: 'TRANSACTION_NESTING',
  });
  const restored = restore(two, bookmark);
  await host.turns(3);
  await call(one, { op: 'commit', txn });
  const undo = await restored;
  expect(await sessions.contents(one)).toEqual(['first']);
  await restore(one, undo);
  expect(await sessions.contents(one)).toEqual(['second']);
  await expect(restore(one, null)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});
