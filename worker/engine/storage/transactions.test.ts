// Which statements SQLite gets for each kind of transaction, and the reports, on a connection that
// notes them.

import { beforeEach, describe, expect, test } from 'vitest';
import type { Connection } from '../sql/connection.ts';
import type { PreparedStatement } from '../sql/statement.ts';
import { TransactionControl } from '../sql/transaction-control.ts';
import { Transactions } from './transactions.ts';

let statements: string[];
let isOpen: boolean;
/** The statement that fails, and whether SQLite rolls back by itself then. */
let failing: { readonly sql: string; readonly error: Error; readonly ends: boolean } | undefined;
let events: unknown[];
let nextTurn: (() => void)[];
let transactions: Transactions;

beforeEach(() => {
  statements = [];
  isOpen = false;
  failing = undefined;
  events = [];
  nextTurn = [];
  const connection = {
    get transactionOpen() {
      return isOpen;
    },
    whenIdle: (task: () => void) => task(),
    events: { onCritical: (error: unknown) => events.push(error) },
  };
  const compile = (sql: string) => ({
    step() {
      statements.push(sql);
      if (failing?.sql === sql) {
        if (failing.ends) isOpen = false;
        throw failing.error;
      }
      if (sql === 'BEGIN') isOpen = true;
      if (sql === 'COMMIT' || sql === 'ROLLBACK') isOpen = false;
    },
  });
  const control = new TransactionControl(
    connection as unknown as Connection,
    compile as unknown as (sql: string) => PreparedStatement,
  );
  transactions = new Transactions(control, {
    begins: () => {},
    committed: () => events.push('committed'),
    rolledBack: (options) => events.push(options),
    nextTurn: (task) => nextTurn.push(task),
    failed: (error) => events.push(error),
  });
});

const SAVE = 'SAVEPOINT _cf_savepoint';
const RELEASE = 'RELEASE _cf_savepoint';
const UNDO = ['ROLLBACK TO _cf_savepoint', RELEASE];

/** The statements since the last call. */
const said = () => statements.splice(0);
const nesting = (message: RegExp) =>
  expect.objectContaining({
    code: 'TRANSACTION_NESTING',
    message: expect.stringMatching(message),
  });

describe('the implicit transaction', () => {
  test('[TX1] is opened by the first write of a turn and committed in the next', () => {
    expect(transactions.isImplicit).toBe(true);
    transactions.beforeWrite();
    transactions.beforeWrite();
    expect([said(), nextTurn.length, events]).toEqual([['BEGIN'], 1, []]);
    nextTurn[0]!();
    expect([said(), events]).toEqual([['COMMIT'], ['committed']]);
    nextTurn[0]!();
    transactions.commitImplicit();
    expect([said(), events]).toEqual([[], ['committed']]);
    transactions.beforeWrite();
    expect(said()).toEqual(['BEGIN']);
  });

  test('[TX1] that cannot be committed is reported, and to who commits it as well', () => {
    const error = new Error('the disk failed');
    transactions.beforeWrite();
    failing = { sql: 'COMMIT', error, ends: false };
    nextTurn[0]!();
    expect(events).toEqual([error]);
    expect(() => transactions.commitImplicit()).toThrow(error);
    expect([events, said()]).toEqual([
      [error, error],
      ['BEGIN', 'COMMIT', 'COMMIT'],
    ]);
  });

  test('[KV9] is discarded with all it wrote; without one nothing is undone', () => {
    transactions.discard();
    expect([said(), events]).toEqual([[], []]);
    transactions.beforeWrite();
    transactions.discard();
    expect([said(), events]).toEqual([['BEGIN', 'ROLLBACK'], [{ implicit: true }]]);
    transactions.beforeWrite();
    expect(said()).toEqual(['BEGIN']);
  });
});

describe('explicit transactions', () => {
  test('[TX7] begin after the implicit one, and inner ones are savepoints', () => {
    transactions.beforeWrite();
    const outer = transactions.begin();
    expect(said()).toEqual(['BEGIN', 'COMMIT', 'BEGIN']);
    expect(transactions.isImplicit).toBe(false);
    transactions.beforeWrite();
    const inner = transactions.begin();
    const innermost = transactions.begin();
    expect(said()).toEqual([SAVE, SAVE]);
    events = [];
    transactions.commit(innermost);
    transactions.rollback(inner);
    expect([said(), events]).toEqual([[RELEASE, ...UNDO], [{ implicit: false }]]);
    transactions.commit(outer);
    expect([said(), events]).toEqual([['COMMIT'], [{ implicit: false }, 'committed']]);
    expect(transactions.isImplicit).toBe(true);
    expect([outer, inner, innermost].map(({ status }) => status)).toEqual([
      'committed',
      'rolledBack',
      'committed',
    ]);
  });

  test('[TX3] end once', () => {
    const first = transactions.begin();
    transactions.rollback(first);
    expect(said()).toEqual(['BEGIN', 'ROLLBACK']);
    transactions.commit(first);
    transactions.rollback(first);
    const second = transactions.begin();
    transactions.commit(second);
    expect(said()).toEqual(['BEGIN', 'COMMIT']);
    transactions.rollback(second);
    expect([said(), second.status, events]).toEqual([
      [],
      'committed',
      [{ implicit: false }, 'committed'],
    ]);
  });

  test('[TX7] are not undone by rollback() while an inner one is open', () => {
    const outer = transactions.begin();
    transactions.begin();
    said();
    expect(() => transactions.rollback(outer)).toThrow(nesting(/^rollback: an inner/));
    expect([said(), outer.status, events]).toEqual([[], 'open', []]);
  });

  test('[TX9] that fail while inner ones are open are undone when these have ended', () => {
    const outer = transactions.begin();
    const middle = transactions.begin();
    const inner = transactions.begin();
    said();
    transactions.fail(middle);
    transactions.fail(outer);
    transactions.fail(outer);
    expect([said(), events, transactions.isImplicit]).toEqual([[], [], false]);
    expect([outer, middle, inner].map(({ status }) => status)).toEqual([
      'rolledBack',
      'rolledBack',
      'open',
    ]);
    transactions.rollback(outer); // no error, as after a rollback
    transactions.commit(inner);
    expect(said()).toEqual([RELEASE, ...UNDO, 'ROLLBACK']);
    expect([inner.status, events]).toEqual([
      'committed',
      [{ implicit: false }, { implicit: false }],
    ]);
    expect(transactions.isImplicit).toBe(true);
  });

  test('[TX9] an outer one goes on when the middle one was undone late', () => {
    const outer = transactions.begin();
    const middle = transactions.begin();
    const inner = transactions.begin();
    said();
    transactions.fail(middle);
    transactions.rollback(inner);
    expect(said()).toEqual([...UNDO, ...UNDO]);
    transactions.commit(outer);
    expect([said(), events.at(-1)]).toEqual([['COMMIT'], 'committed']);
  });

  test('[TX10] whose closure returns while an inner one is open reset the object', () => {
    const outer = transactions.begin();
    transactions.begin();
    said();
    const refusal = nesting(
      /the closure returned while .*; await the inner one\. The object was reset/,
    );
    expect(() => transactions.commit(outer)).toThrow(refusal);
    expect([said(), outer.status]).toEqual([[], 'open']);
    expect(events).toEqual([expect.objectContaining({ durableObjectReset: true })]);
  });

  test('[TX10] that were undone return at any time', () => {
    const outer = transactions.begin();
    transactions.rollback(outer);
    const later = transactions.begin();
    said();
    transactions.commit(outer);
    transactions.commit(later);
    expect([said(), events]).toEqual([['COMMIT'], [{ implicit: false }, 'committed']]);
  });

  const nested = () => {
    transactions.begin();
    return transactions.begin();
  };
  test.each([
    ['BEGIN', () => transactions.begin()],
    ['COMMIT', () => transactions.commit(transactions.begin())],
    ['ROLLBACK', () => transactions.rollback(transactions.begin())],
    ['ROLLBACK', () => transactions.fail(transactions.begin())],
    [SAVE, () => nested()],
    [RELEASE, () => transactions.commit(nested())],
    [RELEASE, () => transactions.rollback(nested())],
    [UNDO[0]!, () => transactions.rollback(nested())],
  ])('[TX11] reset the object when SQLite refuses %s', (sql, run) => {
    const error = new Error('no memory');
    failing = { sql, error, ends: false };
    expect(run).toThrow(error);
    expect(events).toEqual([error]);
    expect(Object.getOwnPropertyDescriptor(error, 'durableObjectReset')).toEqual({
      value: true,
      writable: false,
      enumerable: false,
      configurable: true,
    });
  });

  test('[TX11] reset the object when SQLite has ended the transaction before its end', () => {
    const frame = transactions.begin();
    isOpen = false;
    const defect = expect.objectContaining({ code: 'INTERNAL' });
    expect(() => transactions.commit(frame)).toThrow(defect);
    expect(events).toEqual([defect]);
  });

  test('[KV9] are discarded as such', () => {
    transactions.begin();
    transactions.discard();
    expect(events).toEqual([{ implicit: false }]);
    expect(transactions.isImplicit).toBe(true);
  });
});

describe('transactionSync', () => {
  test('[TX4] is a savepoint of the open transaction, and gives the value', () => {
    const value = transactions.sync(() => transactions.sync(() => 5));
    expect(value).toBe(5);
    expect(said()).toEqual(['BEGIN', SAVE, SAVE, RELEASE, RELEASE]);
    expect(events).toEqual([]);
    transactions.sync(() => {});
    expect(said()).toEqual([SAVE, RELEASE]);
  });

  test('[TX4] that throws is undone, and the next one begins as if it had not been', () => {
    const error = new Error('mine');
    const run = () =>
      transactions.sync(() => {
        throw error;
      });
    for (let round = 0; round < 2; round++) {
      events = [];
      expect(run).toThrow(error);
      expect(said().slice(-3)).toEqual([SAVE, ...UNDO]);
      expect(events).toEqual([{ implicit: false }]);
    }
  });

  test('[TX4] after which SQLite has rolled back everything has nothing left to undo', () => {
    const error = new Error('critical');
    const run = () =>
      transactions.sync(() => {
        isOpen = false;
        throw error;
      });
    expect(run).toThrow(error);
    expect([said(), events]).toEqual([['BEGIN', SAVE], []]);
  });

  test('[TX5] refuses a result with a method `then`, and nothing else', () => {
    const property = Object.fromEntries([['then', 5]]);
    for (const value of [null, undefined, 5, 'then', {}, property]) {
      expect(transactions.sync(() => value)).toBe(value);
    }
    expect(() => transactions.sync(() => Promise.reject(new Error('unheard')))).toThrow(
      expect.objectContaining({
        code: 'TRANSACTION_ASYNC',
        message: expect.stringMatching(/returned a promise, and was rolled back; use transaction/),
      }),
    );
    expect(events).toEqual([{ implicit: false }]);
  });

  test('[TX12] in which everything was deleted is refused, and undoes nothing more', () => {
    const run = (callback: () => void) => () =>
      transactions.sync(() => {
        transactions.discard();
        transactions.beforeWrite();
        said();
        callback();
      });
    const refusal = nesting(
      /deleteAll\(\) or rollback\(\) inside ended the transaction.* Call them/,
    );
    expect(run(() => {})).toThrow(refusal);
    expect(said()).toEqual([]);
    const failing = run(() => {
      throw new Error('mine');
    });
    expect(failing).toThrow(refusal);
    expect([said(), events.length]).toEqual([[], 2]);
  });

  test('[TX12] inside which its transaction is rolled back has ended with it', () => {
    for (const depth of [1, 2]) {
      const frames = Array.from({ length: depth }, () => transactions.begin());
      said();
      const run = () =>
        transactions.sync(() => {
          transactions.rollback(frames.at(-1)!);
          transactions.beforeWrite();
        });
      expect(run).toThrow(nesting(/rollback\(\) inside ended/));
      expect(said()).toEqual(depth === 1 ? [SAVE, 'ROLLBACK', 'BEGIN'] : [SAVE, RELEASE, ...UNDO]);
      transactions.commitImplicit();
    }
  });

  test('[TX12] commits nothing before it has ended', () => {
    transactions.sync(() => transactions.commitImplicit());
    expect(said()).toEqual(['BEGIN', SAVE, RELEASE]);
    transactions.commitImplicit();
    expect(said()).toEqual(['COMMIT']);
  });
});

describe('[KV6] writes of one call', () => {
  test('are a savepoint', () => {
    transactions.beforeWrite();
    transactions.group(() => {});
    expect(said()).toEqual(['BEGIN', SAVE, RELEASE]);
    expect(events).toEqual([]);
  });

  test.each([true, false])(
    'that fail are undone if the transaction is still there: %s',
    (isThere) => {
      const error = new Error('mine');
      transactions.beforeWrite();
      said();
      const run = () =>
        transactions.group(() => {
          isOpen = isThere;
          throw error;
        });
      expect(run).toThrow(error);
      expect(said()).toEqual([SAVE, ...(isThere ? UNDO : [])]);
      expect(events).toEqual(isThere ? [{ implicit: false }] : []);
    },
  );
});
