import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FakeHost } from '../../../packages/testing/page/fake-host.ts';
import { type FakeTab, FakeTabs } from '../../../packages/testing/page/fake-tabs.ts';
import { turns } from '../../../packages/testing/page/turns.ts';
import { runCandidate } from '../../../worker/start/boot/candidate.ts';
import type { RemoteStorage, Transaction } from '../../shared/contract/storage.ts';
import { toWire } from '../../shared/wire/errors-on-wire.ts';

let tabs: FakeTabs;
let tab: FakeTab;
let storage: RemoteStorage;
let host: FakeHost;

beforeEach(async () => {
  tabs = new FakeTabs(runCandidate);
  tab = tabs.tab();
  storage = await tab.open('object');
  host = tab.leadingHost;
  await storage.put('count', 1);
  host.messages.length = 0;
});

afterEach(() => tabs.close());

test('[PTX1] the closure’s value is the result, and its writes are committed', async () => {
  const value = { of: 'the closure' };
  const result = await storage.transaction(async (txn) => {
    await txn.put('count', ((await txn.get<number>('count')) ?? 0) + 1);
    return value;
  });
  expect(result).toBe(value);
  expect(host.operations).toEqual(['begin', 'get', 'put', 'commit']);
  expect(await storage.get('count')).toBe(2);
});

test('[PTX1] a synchronous closure will do, and writes it did not await are part of it', async () => {
  await storage.transaction((txn) => void txn.put('count', 5));
  expect(host.operations).toEqual(['begin', 'put', 'commit']);
});

test.for([
  ['an error', new Error('mine')],
  ['a string', 'mine'],
  ['undefined', undefined],
])('[PTX1] a closure that throws %s is rolled back and rejects with it', async ([, thrown]) => {
  const transaction = storage.transaction(async (txn) => {
    await txn.put('count', 2);
    throw thrown;
  });
  expect(await transaction.then(expect.fail, (error) => ({ error }))).toEqual({ error: thrown });
  expect(await storage.get('count')).toBe(1);
});

test('[PTX3] calls of the handle join the transaction while it is open', async () => {
  await storage.transaction(async () => {
    await storage.put('count', 2);
    await storage.sql.exec('rows 1').toArray();
  });
  await storage.get('count');
  const marks = host.messages.flat().map(({ op, txn }) => [op, txn !== undefined]);
  expect(marks).toEqual([
    ['begin', false],
    ['put', true],
    ['exec', true],
    ['commit', true],
    ['get', false],
  ]);
});

test('[PTX7] a write of the handle can be awaited in the closure, and is undone with it', async () => {
  const order: string[] = [];
  const transaction = storage.transaction(async (txn) => {
    await storage.put('count', 2);
    order.push('taken');
    expect(await txn.get('count')).toBe(2);
    throw new Error('mine');
  });
  await expect(transaction).rejects.toThrow('mine');
  expect(order).toEqual(['taken']);
  expect(await storage.get('count')).toBe(1);
});

test('[PTX4] after rollback() its operations fail, and the closure’s value is still delivered', async () => {
  const result = await storage.transaction(async (txn) => {
    await txn.put('count', 2);
    txn.rollback();
    txn.rollback();
    await expect(txn.get('count')).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
    await expect(txn.delete('count')).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
    return 'done';
  });
  expect(result).toBe('done');
  expect(host.operations).toEqual(['begin', 'put', 'rollback']);
  expect(await storage.get('count')).toBe(1);
});

test('[PTX4] rollback() comes before later calls, which stand for themselves', async () => {
  await storage.transaction(async (txn) => {
    void txn.put('count', 2);
    txn.rollback();
    await storage.put('after', true);
  });
  expect(host.operations).toEqual(['begin', 'put', 'rollback', 'put']);
  expect([await storage.get('count'), await storage.get('after')]).toEqual([1, true]);
});

test('[PTX4] after the commit every operation of txn fails, rollback() too', async () => {
  let kept: Transaction | undefined;
  await storage.transaction((txn) => {
    kept = txn;
  });
  await expect(kept?.put('count', 9)).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
  const empty = { start: 'b', end: 'a' };
  await expect(kept?.list(empty)).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
  expect(() => kept?.rollback()).toThrowError(/committed/);
});

describe('the first calls', () => {
  test('[PTX8] are sent with the beginning, and the commit when the closure has ended', async () => {
    const release = host.holdAnswers();
    const value = storage.transaction(async (txn) => {
      void txn.put('count', 2);
      return txn.get('count');
    });
    await vi.waitUntil(() => host.operations.includes('begin'));
    await turns();
    expect(host.operations).toEqual(['begin', 'put', 'get']);
    release();
    expect(await value).toBe(2);
    expect(host.operations).toEqual(['begin', 'put', 'get', 'commit']);
  });

  test('[PTX8] the commit of a closure that ends before the transaction is open waits for no answer', async () => {
    const release = host.holdAnswers();
    const done = storage.transaction((txn) => void txn.put('count', 2));
    await turns();
    expect(host.operations).toEqual(['begin', 'put', 'commit']);
    release();
    await done;
    expect(await storage.get('count')).toBe(2);
  });

  test('[PTX8] one whose commit was sent does not begin again: it may have taken effect', async () => {
    const other = tabs.tab();
    const theirs = await other.open('object');
    host.holdAnswers();
    const lost = theirs.transaction((txn) => void txn.put('count', 2).catch(() => {}));
    await vi.waitUntil(() => host.operations.includes('commit'));
    tab.close();
    await expect(lost).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect(await theirs.get('count')).toBe(2); // here it has
    expect(other.leadingHost.operations).toEqual(['get']);
  });

  test('[PTX8] a transaction that is lost before it was open begins again, with its calls, at the next worker', async () => {
    const other = tabs.tab();
    const theirs = await other.open('object');
    host.holdAnswers();
    const run = vi.fn();
    const value = theirs.transaction(async (txn) => {
      run();
      await txn.put('count', ((await txn.get<number>('count')) ?? 0) + 1);
      return txn.get('count');
    });
    await vi.waitUntil(() => host.operations.includes('get'));
    tab.close();
    expect(await value).toBe(2);
    expect(run).toHaveBeenCalledTimes(1);
    expect(other.leadingHost.operations).toEqual(['begin', 'get', 'put', 'get', 'commit']);
  });

  test('[PTX8] if the beginning is refused, the transaction and its calls reject with that error', async () => {
    vi.spyOn(host, 'execute').mockImplementation(async (_session, calls) =>
      calls.map(() => ({ error: toWire(new Error('refused')) })),
    );
    let first: Promise<unknown> = Promise.resolve();
    const refused = storage.transaction((txn) => {
      first = txn.get('count').catch((error) => error);
    });
    await expect(refused).rejects.toThrow('refused');
    expect(await first).toMatchObject({ message: 'refused' });
    vi.restoreAllMocks();
    await storage.transaction((txn) => txn.put('count', 3));
    expect(await storage.get('count')).toBe(3);
  });
});

describe('two transactions of a handle', () => {
  test('[PTX5] run one after the other, also when the first fails', async () => {
    const order: string[] = [];
    const first = storage.transaction(async (txn) => {
      order.push('first begins');
      await txn.get('count');
      order.push('first ends');
      throw new Error('mine');
    });
    const second = storage.transaction(() => void order.push('second'));
    await expect(first).rejects.toThrow('mine');
    await second;
    expect(order).toEqual(['first begins', 'first ends', 'second']);
  });

  test('[PTX5] one started in the other’s closure is refused at once', async () => {
    const refusal = await storage.transaction(() => {
      const inner = storage.transaction(() => {});
      return inner.then(
        () => expect.fail('it succeeded'),
        (error) => error,
      );
    });
    expect(refusal).toMatchObject({ code: 'TRANSACTION_NESTING' });
  });
});

test('[PTX6] [PTX9] a closure that does not end is rolled back after 30 s; its late calls reject', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let transaction: Promise<void> = Promise.resolve();
  let hasWritten = false;
  const late = new Promise<unknown>((report) => {
    transaction = storage.transaction(async (txn) => {
      await txn.put('count', 2);
      hasWritten = true;
      await held;
      report(await Promise.allSettled([txn.put('count', 3), storage.put('count', 4)]));
    });
  });
  const timedOut = expect(transaction).rejects.toMatchObject({ code: 'TRANSACTION_TIMEOUT' });
  await vi.waitUntil(() => hasWritten);
  await turns(3); // its time begins when the page knows that it is open
  tab.advance(29_999);
  await turns();
  expect(host.operations).toEqual(['begin', 'put']);
  tab.advance(1);
  await timedOut;
  release();
  const ended = { status: 'rejected', reason: { code: 'TRANSACTION_TIMEOUT' } };
  expect(await late).toMatchObject([ended, ended]);
  await vi.waitUntil(() =>
    storage.get('count').then(
      (count) => count === 1,
      () => false,
    ),
  );
});

test('[PTX6] a page that goes away undoes its open transaction at once, and begins none until it is back', async () => {
  const stands = storage.transaction(async (txn) => {
    await txn.put('count', 2);
    await new Promise(() => {});
  });
  const next = storage.transaction((txn) => void txn.put('count', 3));
  await vi.waitUntil(() => host.operations.includes('put'));
  tab.hide();
  await turns();
  expect(host.operations).toEqual(['begin', 'put', 'rollback']);
  tab.advance(0); // it is back
  await expect(stands).rejects.toMatchObject({ code: 'TRANSACTION_ENDED' });
  await next;
  expect(host.operations.slice(3)).toEqual(['begin', 'put', 'commit']);
});

test('[PTX6] a transaction that has ended leaves nothing for the end of its page', async () => {
  await storage.transaction((txn) => void txn.put('count', 2));
  tab.hide();
  await turns();
  expect(host.operations).toEqual(['begin', 'put', 'commit']);
  expect(await storage.get('count')).toBe(2);
});

test('[PTX6] a transaction whose closure does not end rejects as its handle is closed', async () => {
  const transaction = storage.transaction(async (txn) => {
    await txn.put('count', 2);
    await new Promise(() => {});
  });
  transaction.catch(() => {});
  await vi.waitUntil(() => host.operations.includes('put'));
  const next = storage.transaction(() => {});
  next.catch(() => {});
  await storage.close();
  await expect(transaction).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await expect(next).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
});
