// Tests close() of a handle, which sends earlier calls and waits for their answers; and which calls are known not to be
// done when the page gives up their worker.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { FakeHost } from '../../../packages/testing/page/fake-host.ts';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { storageError } from '../../shared/contract/errors.ts';
import type { RemoteStorage, StorageBranch } from '../../shared/contract/storage.ts';
import { connectionClosed } from '../../shared/wire/errors-on-wire.ts';
import {
  type AnyOperation,
  type Call,
  OPERATIONS,
  type OperationName,
} from '../../shared/wire/operations.ts';
import { Work } from '../../shared/wire/page-end.ts';
import { Flags } from '../leader/flags.ts';
import { Persistence } from '../leader/status.ts';
import { Session, type SessionConnection, type SessionFinder } from './session.ts';

const CLOSED = { code: 'CONNECTION_CLOSED' };

let tabs: FakeTabs;
let tab: FakeTab;
let storage: RemoteStorage;
let host: FakeHost;

beforeEach(async () => {
  tabs = new FakeTabs(runCandidate);
  tab = tabs.tab();
  storage = await tab.open('object');
  host = tab.leadingHost;
  host.messages.length = 0;
});
afterEach(() => tabs.close());

const stateOf = (promise: Promise<unknown>) =>
  Promise.race([
    promise.then(
      () => 'resolved',
      (error) => error.code as string,
    ),
    turns(8).then(() => 'pending'),
  ]);

type Write = (storage: RemoteStorage, branch: StorageBranch) => Promise<unknown>;

/** A call of each member that writes, and the operation that is sent to the worker. */
const WRITES: readonly (readonly [member: string, op: OperationName, write: Write])[] = [
  ['put', 'put', (storage) => storage.put('a', 1)],
  ['kv.put', 'put', (storage) => storage.kv.put('a', 1)],
  ['kv.putMany', 'putMany', (storage) => storage.kv.putMany([['a', 1]])],
  ['delete', 'delete', (storage) => storage.delete('a')],
  ['kv.delete', 'delete', (storage) => storage.kv.delete('a')],
  ['deleteAll', 'deleteAll', (storage) => storage.deleteAll()],
  ['sql.exec', 'exec', (storage) => storage.sql.exec('rows 1').ready],
  ['sql.execMany', 'execMany', (storage) => storage.sql.execMany('rows 1', [[1]])],
  ['batch', 'batch', (storage) => storage.batch([['rows 1']])],
  ['setAlarm', 'setAlarm', (storage) => storage.setAlarm(1)],
  ['deleteAlarm', 'deleteAlarm', (storage) => storage.deleteAlarm()],
  ['sync', 'sync', (storage) => storage.sync()],
  ['importDatabase', 'importDatabase', (storage) => storage.importDatabase(new Uint8Array(8))],
  ['importDatabase of a Blob', 'importDatabase', (storage) => storage.importDatabase(new Blob())],
  ['restore', 'restore', (storage) => storage.restore('moment')],
  [
    'onNextSessionRestoreBookmark',
    'onNextSessionRestoreBookmark',
    (storage) => storage.onNextSessionRestoreBookmark('moment'),
  ],
  ['cancelRestore', 'cancelRestore', (storage) => storage.cancelRestore()],
  ['revert', 'revert', (storage) => storage.revert('moment')],
  ['merge', 'merge', (storage) => storage.merge({ from: 'moment', to: 'other' })],
  ['merge of a branch', 'mergeBranch', (storage, branch) => storage.merge(branch)],
  ['promote', 'promote', (storage, branch) => storage.promote(branch)],
  ['fork', 'fork', async (storage) => (await storage.fork()).close()],
  ['deleteBranch', 'deleteBranch', (storage) => storage.deleteBranch('branch')],
  ['abort', 'abort', (storage) => storage.abort()],
];

test('[PAGE7] the table of writes has every operation that writes, but the ends of a transaction', () => {
  const writing = Object.entries<AnyOperation>(OPERATIONS).filter(
    ([, { effect }]) => effect === 'write',
  );
  const ops = new Set<string>([...WRITES.map(([, op]) => op), 'commit', 'rollback']);
  expect([...ops].sort()).toEqual(writing.map(([op]) => op).sort());
});

test.for(WRITES)(
  '[PAGE7] %s that is called in the turn of close() is made',
  async ([, op, write]) => {
    const branch = await storage.fork();
    host.messages.length = 0;
    const written = write(storage, branch);
    await storage.close();
    expect(host.operations).toEqual([op]);
    await written;
    await branch.close();
    expect(host.sessions.size).toBe(0);
  },
);

test('[PAGE7] a read of many rows that was called before close() gets them all; a later one does not', async () => {
  const [read, cursor] = [storage.sql.exec('rows 6000'), storage.sql.exec('rows 6000')];
  await cursor.ready;
  const rows = read.raw().toArray();
  const closing = storage.close();
  const late = cursor.raw().toArray();
  await expect(late).rejects.toMatchObject(CLOSED);
  expect((await rows).map(([n]) => n)).toEqual(Array.from({ length: 6000 }, (_, i) => i + 1));
  await closing;
  expect(host.sessions.size).toBe(0);
});

test('[PAGE7] [SES9] an open transaction is undone at once, while a call before it is still answered', async () => {
  const release = host.holdAnswers();
  const before = storage.put('before', 1);
  await turns();
  const open = storage.transaction(async (txn) => {
    await txn.put('inside', 1);
    await new Promise(() => {});
  });
  const joined: Promise<void>[] = [];
  await turns();
  joined.push(storage.put('joined', 1));
  await turns();
  const closing = storage.close();
  await expect(open).rejects.toMatchObject(CLOSED);
  await expect(joined[0]).rejects.toMatchObject(CLOSED);
  await turns();
  expect(host.operations.at(-1)).toBe('rollback');
  expect([await stateOf(before), await stateOf(closing)]).toEqual(['pending', 'pending']);
  expect([...tabs.disk.get('object')!.keys()]).toEqual(['before']);
  release();
  expect([await stateOf(before), await stateOf(closing)]).toEqual(['resolved', 'resolved']);
});

test('[PAGE7] a transaction that is called in the turn of close() never begins', async () => {
  const transaction = storage.transaction((txn) => void txn.put('a', 1));
  const closing = storage.close();
  await expect(transaction).rejects.toMatchObject(CLOSED);
  await closing;
  expect(host.operations).toEqual([]);
});

test('[PAGE7] a write that waits for the next worker reaches it after close()', async () => {
  tab.terminateWorker();
  await turns(); // the loss is known
  const write = storage.put('a', 1);
  const closing = storage.close();
  expect(await stateOf(closing)).toBe('resolved');
  await write;
  expect(tabs.disk.get('object')!.has('a')).toBe(true);
  const sessions = tab.workers.flatMap(({ hosts }) => hosts).filter((each) => each !== host);
  expect(sessions.map((each) => each.sessions.size)).toEqual([0]);
});

test('[PAGE7] a write that the worker does not survive rejects, and close() ends', async () => {
  host.holdAnswers();
  const write = storage.put('a', 1);
  await turns();
  const closing = storage.close();
  tab.terminateWorker();
  await expect(write).rejects.toMatchObject(CLOSED);
  expect(await stateOf(closing)).toBe('resolved');
});

test('[PAGE7] close() with nothing under way tells the worker at once', async () => {
  await storage.put('a', 1);
  const closing = storage.close();
  await turns();
  expect(host.sessions.size).toBe(0);
  await closing;
});

/** Makes a session on a connection that the test can lose. */
async function lostSession() {
  const rejects: ((error: Error) => void)[] = [];
  const opened: string[] = [];
  let lose: (reason: Error) => void = () => {};
  let failure: Error | null = null;
  const executed: Call['op'][][] = [];
  const connection = {
    get failure() {
      return failure;
    },
    isYielding: false,
    whenLost(lost: (reason: Error) => void) {
      lose = lost;
      return () => {};
    },
    worker: {
      open: async () => ({ ok: opened.push('object') }),
      execute: (_id: number, calls: readonly Call[]) => {
        executed.push(calls.map(({ op }) => op));
        return new Promise((_, reject) => rejects.push(reject));
      },
      close: async () => {},
    },
  } as unknown as SessionConnection;
  const finder: SessionFinder = {
    client: 'client',
    flags: new Flags({ make: () => 'flag', revoke() {}, now: () => 0 }),
    standing: {
      standing: { state: 'leading', reason: null, medium: null },
      isOutdated: false,
      persistence: new Persistence({}),
      onStanding: () => () => {},
      onNotice: () => () => {},
    },
    end: undefined,
    work: new Work(),
    connection: async () => connection,
  };
  const session = new Session('object', finder, () => 0);
  await session.open();
  return {
    session,
    executed,
    /** Loses the connection, in the order of a real one: calls reject first, then its users are told. */
    giveUp(reasons: readonly Error[], reason: Error) {
      failure = reason;
      for (const [i, each] of reasons.entries()) rejects[i]!(each);
      void Promise.resolve().then(() => {
        failure = null;
        lose(reason);
      });
    },
  };
}

test('[TAB16] each write of a handle rejects as not done or perhaps done; reads are made again', async () => {
  const { session, executed, giveUp } = await lostSession();
  const calls = [session.call({ op: 'deleteAlarm', unconfirmed: false } as Call)];
  await turns();
  calls.push(session.call({ op: 'deleteAlarm', unconfirmed: false } as Call));
  await turns();
  void session.call({ op: 'databaseSize' }).catch(() => {});
  await turns();
  const unread = storageError('WORKER_BUSY', 'not done');
  const outcomes = Promise.allSettled(calls);
  giveUp([connectionClosed('it was silent'), unread, unread], connectionClosed('it was silent'));
  expect(await outcomes).toMatchObject([
    { reason: { code: 'CONNECTION_CLOSED' } },
    { reason: { code: 'WORKER_BUSY' } },
  ]);
  await turns();
  expect(executed).toEqual([['deleteAlarm'], ['deleteAlarm'], ['databaseSize'], ['databaseSize']]);
});
