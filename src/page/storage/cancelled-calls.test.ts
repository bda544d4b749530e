// Tests calls of a page that a signal cancels: which messages are sent, and the outcome for the caller.

import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import { withSignal } from '../../shared/calls/stubs/with-signal.ts';
import type { RemoteSqlCursor, RemoteStorage, SqlRow } from '../../shared/contract/storage.ts';

let tabs: FakeTabs;
let tab: FakeTab;
let storage: RemoteStorage;
let controller: AbortController;
let calls: RemoteStorage;

beforeEach(async () => {
  tabs = new FakeTabs(runCandidate);
  tab = tabs.tab();
  storage = await tab.open();
  controller = new AbortController();
  calls = withSignal(storage, controller.signal);
});
afterEach(() => tabs.close());

const enough = new Error('enough');

/** Resolves to the error of the call, or to an object with its result. */
function outcome(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (result) => ({ result }),
    (error) => error,
  );
}

describe('withSignal', () => {
  test.each([
    ['no signal', () => withSignal(storage, undefined as never)],
    ['a controller', () => withSignal(storage, new AbortController() as never)],
    ['what looks like one', () => withSignal(storage, { aborted: false } as never)],
    ['nothing', () => withSignal(undefined as never, controller.signal)],
    ['another object', () => withSignal({}, controller.signal)],
    ['a part of a handle', () => withSignal(storage.sql, controller.signal)],
  ])('[CANCEL1] refuses %s', (_, call) => {
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  test('[CANCEL1] gives the same handle: its name, state and end', async () => {
    expect([calls.name, calls.state]).toEqual([storage.name, storage.state]);
    await calls.put('a', 1);
    expect(await storage.get('a')).toBe(1);
    await calls.close();
    await expect(storage.get('a')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    await storage.close();
  });

  test('[CANCEL1] signals add up', async () => {
    const other = new AbortController();
    const both = withSignal(calls, other.signal);
    const third = withSignal(calls, new AbortController().signal);
    other.abort(enough);
    expect(await outcome(both.get('a'))).toBe(enough);
    expect(await outcome(calls.get('a'))).toEqual({ result: undefined });
    controller.abort(new Error('the first'));
    expect(await outcome(third.get('a'))).toMatchObject({ message: 'the first' });
  });
});

describe('a call', () => {
  test('[CANCEL2] of a signal that is aborted rejects, and nothing is sent', async () => {
    controller.abort(enough);
    expect(await outcome(calls.put('a', 1))).toBe(enough);
    expect(await outcome(calls.get('a'))).toBe(enough);
    expect(await outcome(calls.sql.exec('rows 1').toArray())).toBe(enough);
    expect(await outcome(calls.transaction(() => 1))).toBe(enough);
    expect(await outcome(calls.at('bookmark'))).toBe(enough);
    expect(await outcome(calls.at(new Date(0)))).toBe(enough);
    await turns();
    expect(tab.leadingHost.operations).toEqual([]);
  });

  test('[CANCEL2] that was not sent yet never is', async () => {
    const call = outcome(calls.put('a', 1));
    controller.abort(enough);
    expect(await call).toBe(enough);
    await turns();
    expect(tab.leadingHost.operations).toEqual([]);
  });

  test('[CANCEL2] that waits for a worker is not sent to the next', async () => {
    tab.terminateWorker();
    await turns();
    const call = outcome(calls.put('a', 1));
    controller.abort(enough);
    expect(await call).toBe(enough);
    await storage.put('b', 1);
    expect(tab.leadingHost.operations).toEqual(['put']);
  });

  test('[CANCEL4] that only reads rejects at once, and the worker is told', async () => {
    const release = tab.leadingHost.holdAnswers();
    const call = outcome(calls.get('a'));
    await turns();
    controller.abort(enough);
    expect(await call).toBe(enough);
    await turns();
    const flags = tab.leadingHost.messages.flat().map(({ flag }) => flag?.url);
    expect(tab.leadingHost.cancelled).toEqual(flags);
    expect([...tabs.revoked]).toEqual(flags);
    release();
  });

  test('[CANCEL4] that opens an earlier moment rejects at once, and the moment is closed', async () => {
    const release = tab.leadingHost.holdAnswers();
    const call = outcome(calls.at('bookmark'));
    await turns();
    controller.abort(enough);
    expect(await call).toBe(enough);
    expect(tab.leadingHost.operations).toEqual(['openMoment']);
    release();
    await vi.waitUntil(() => tab.leadingHost.operations.length === 2);
    expect(tab.leadingHost.operations).toEqual(['openMoment', 'closeMoment']);
  });

  test("[CANCEL4] that may write settles with the worker's answer", async () => {
    const release = tab.leadingHost.holdAnswers();
    const call = outcome(calls.put('a', 1));
    await turns();
    controller.abort(enough);
    await turns();
    expect(tab.leadingHost.cancelled.length).toBe(1);
    release();
    expect(await call).toEqual({ result: undefined });
    expect(await storage.get('a')).toBe(1);
  });

  test('[CANCEL5] that is answered is not concerned; its signal has no listener left', async () => {
    const listeners = () => getEventListeners(controller.signal, 'abort').length;
    const answers = [calls.put('a', 1), calls.get('a')];
    expect(listeners()).toBe(1);
    expect(await Promise.all(answers)).toEqual([undefined, 1]);
    expect(listeners()).toBe(0);
    controller.abort(enough);
    await turns();
    expect([tab.leadingHost.cancelled, tabs.revoked.size]).toEqual([[], 0]);
  });

  test('[CANCEL5] that is cancelled is not repeated at the next worker', async () => {
    tab.leadingHost.holdAnswers();
    const call = outcome(calls.get('a'));
    await turns();
    controller.abort(enough);
    expect(await call).toBe(enough);
    tab.terminateWorker();
    await storage.get('b');
    expect(tab.leadingHost.messages).toEqual([[{ op: 'get', keys: ['b'] }]]);
  });

  test('[CANCEL4] that may have written when its worker is lost says so', async () => {
    tab.leadingHost.holdAnswers();
    const call = outcome(calls.put('a', 1));
    await turns();
    controller.abort(enough);
    await turns();
    tab.terminateWorker();
    expect(await call).toMatchObject({ code: 'CONNECTION_CLOSED' });
  });
});

describe('a cursor', () => {
  test('[CANCEL5] whose next rows are cancelled is closed in the worker', async () => {
    const cursor = calls.sql.exec('rows 5000');
    await cursor.ready;
    const [session] = [...tab.leadingHost.sessions.values()];
    expect(session!.cursors.size).toBe(1);
    controller.abort(enough);
    expect(await outcome(cursor.toArray())).toBe(enough);
    await turns();
    expect(session!.cursors.size).toBe(0);
  });

  test.for([1, 10, 99, 101, 1000, 1100, 1101, 3000, 4999])(
    '[CANCEL4] never ends as if it were read to its end, after an abort at row %i',
    async (last) => {
      const views = [
        (cursor: RemoteSqlCursor<SqlRow>) => cursor,
        (cursor: RemoteSqlCursor<SqlRow>) => cursor.raw(),
      ];
      for (const viewOf of views) {
        const signal = new AbortController();
        const cursor = withSignal(storage, signal.signal).sql.exec('rows 20000');
        let count = 0;
        const loop = async () => {
          for await (const _ of viewOf(cursor)) if (++count === last) signal.abort(enough);
        };
        expect(await outcome(loop())).toBe(enough);
        expect(count).toBe(last);
        expect(await outcome(cursor.next())).toBe(enough);
        expect(await outcome(cursor.one())).toBe(enough);
        expect(await outcome(cursor.raw().toArray())).toBe(enough);
      }
      const [session] = [...tab.leadingHost.sessions.values()];
      await vi.waitUntil(() => session!.cursors.size === 0);
    },
  );

  test('[CANCEL4] of an earlier moment neither', async () => {
    const moment = await calls.at('bookmark');
    const cursor = moment.sql.exec('rows 20000');
    for (let i = 0; i < 3000; i++) await cursor.next();
    controller.abort(enough);
    await turns();
    expect(await outcome(cursor.toArray())).toBe(enough);
    expect(await outcome(cursor.next())).toBe(enough);
  });

  test.for<[string, () => unknown]>([
    ['the handle is closed', () => storage.close()],
    ['the worker is lost', () => tab.terminateWorker()],
  ])('[CUR10] never ends as if it were read to its end, after %s', async ([, end]) => {
    const cursor = storage.sql.exec('rows 20000');
    for (let i = 0; i < 3000; i++) await cursor.next();
    end();
    await turns();
    for (const read of [() => cursor.toArray(), () => cursor.next(), () => cursor.one()]) {
      expect(await outcome(read())).toMatchObject({ code: 'CONNECTION_CLOSED' });
    }
  });

  test('[CANCEL5] whose rows have all arrived is read to its end', async () => {
    const cursor = calls.sql.exec('rows 90');
    await cursor.next();
    controller.abort(enough);
    expect(await outcome(cursor.toArray())).toMatchObject({ result: { length: 89 } });
  });
});

describe('a transaction', () => {
  test('[CANCEL6] is rolled back, with its writes, and its closure can do no more', async () => {
    let later: Promise<unknown> = Promise.resolve();
    const call = outcome(
      calls.transaction(async (txn) => {
        await txn.put('a', 1);
        controller.abort(enough);
        await turns();
        later = outcome(txn.put('b', 1));
        await later;
      }),
    );
    expect(await call).toBe(enough);
    await turns(20);
    expect(await later).toMatchObject({ code: 'TRANSACTION_ENDED' });
    expect(tab.leadingHost.operations).toEqual(['begin', 'put', 'rollback']);
    expect((await storage.list()).size).toBe(0);
  });

  test('[CANCEL6] cancels the calls that join it', async () => {
    let joined: Promise<unknown> | undefined;
    const call = calls.transaction(async (txn) => {
      await txn.get('a');
      const release = tab.leadingHost.holdAnswers();
      joined = outcome(storage.get('a'));
      await turns();
      controller.abort(enough);
      await turns();
      release();
    });
    expect(await outcome(call)).toBe(enough);
    expect(await joined).toBe(enough);
    const read = tab.leadingHost.messages.flat().at(2)!;
    expect(read.op).toBe('get');
    expect(tab.leadingHost.cancelled).toEqual([read.flag!.url]);
  });

  test('[CANCEL6] that is committed when the signal comes is committed', async () => {
    const call = calls.transaction((txn) => txn.put('a', 1));
    await vi.waitFor(() => expect(tab.leadingHost.operations).toContain('commit'));
    controller.abort(enough);
    expect(await outcome(call)).toEqual({ result: undefined });
    expect(await storage.get('a')).toBe(1);
  });

  test('[CANCEL6] that waits for an earlier one rejects at once, and never begins', async () => {
    let end = () => {};
    const first = storage.transaction(() => new Promise<void>((resolve) => (end = resolve)));
    const ran = vi.fn();
    const second = outcome(calls.transaction(ran));
    await turns();
    controller.abort(enough);
    expect(await second).toBe(enough);
    end();
    await first;
    await storage.transaction((txn) => txn.put('a', 1));
    expect(ran).not.toHaveBeenCalled();
    expect(tab.leadingHost.operations.filter((op) => op === 'begin').length).toBe(2);
  });

  test('[CANCEL6] that began although it was cancelled is rolled back', async () => {
    const release = tab.leadingHost.holdAnswers();
    const call = outcome(calls.transaction((txn) => void txn.put('b', 1)));
    await turns();
    controller.abort(enough);
    expect(await call).toBe(enough);
    release();
    await turns(20);
    expect(tab.leadingHost.operations).toEqual(['begin', 'put', 'rollback']);
    await storage.put('a', 1);
    expect([...(await storage.list()).keys()]).toEqual(['a']);
  });
});
