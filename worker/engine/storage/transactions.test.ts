// Which statements SQLite gets for each kind of transaction, and what is reported, on a database that
// notes them.

import { beforeEach, describe, expect, test } from 'vitest';
import type { Database } from '../sql/database.ts';
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
  const database = {
    run(sql: string) {
      statements.push(sql);
      if (failing?.sql === sql) {
        if (failing.ends) isOpen = false;
        throw failing.error;
      }
      if (sql === 'BEGIN') isOpen = true;
      if (sql === 'COMMIT' || sql === 'ROLLBACK') isOpen = false;
    },
    get inTransaction() {
      return isOpen;
    },
  };
  transactions = new Transactions(database as Database, {
    committed: () => events.push('committed'),
    rolledBack: (options) => events.push(options),
    nextTurn: (task) => nextTurn.push(task),
    failed: (error) => events.push(error),
  });
});

/** The statements since the last call. */
const said = () => statements.splice(0);
const nesting = (message: RegExp) =>
  expect.objectContaining({
    code: 'TRANSACTION_NESTING',
    message: expect.stringMatching(message),
  });

describe('the implicit transaction', () => {
  test('[TX1] is opened by the first write of a turn and committed in the next', () => {
    expect([transactions.isImplicit, transactions.isExplicit]).toEqual([true, false]);
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
    expect(events).toEqual([error, error]);
  });

  test('[KV9] is discarded with all it wrote; without one nothing is undone', () => {
    transactions.discard();
    expect([said(), events]).toEqual([[], []]);
    transactions.beforeWrite();
    transactions.discard();
    expect([said(), events]).toEqual([['BEGIN', 'ROLLBACK'], [{ implicit: true }]]);
    transactions.beforeWrite();
    expect(said()).toEqual(['BEGIN']);
    isOpen = false; // SQLite has rolled back by itself
    transactions.discard();
    expect([said(), events]).toEqual([[], [{ implicit: true }, { implicit: true }]]);
  });
});

describe('explicit transactions', () => {
  test('[TX7] begin after the implicit one, and inner ones are savepoints', () => {
    transactions.beforeWrite();
    const outer = transactions.begin();
    expect(said()).toEqual(['BEGIN', 'COMMIT', 'BEGIN']);
    expect([transactions.isImplicit, transactions.isExplicit]).toEqual([false, true]);
    transactions.beforeWrite();
    const inner = transactions.begin();
    const innermost = transactions.begin();
    expect(said()).toEqual(['SAVEPOINT _cf_savepoint_1', 'SAVEPOINT _cf_savepoint_2']);
    events = [];
    transactions.commit(innermost);
    transactions.rollback(inner);
    expect([said(), events]).toEqual([
      ['RELEASE _cf_savepoint_2', 'ROLLBACK TO _cf_savepoint_1', 'RELEASE _cf_savepoint_1'],
      [{ implicit: false }],
    ]);
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

  test('[TX7] do not end while an inner one is open', () => {
    const outer = transactions.begin();
    transactions.begin();
    said();
    expect(() => transactions.commit(outer)).toThrow(nesting(/^commit: an inner .* end it first/));
    expect(() => transactions.rollback(outer)).toThrow(nesting(/^rollback: an inner/));
    expect([said(), outer.status]).toEqual([[], 'open']);
  });

  test('[TX2] that cannot be committed reset the object', () => {
    const error = new Error('the disk failed');
    const frame = transactions.begin();
    failing = { sql: 'COMMIT', error, ends: true };
    expect(() => transactions.commit(frame)).toThrow(error);
    expect(events).toEqual([error]);
    expect(Object.getOwnPropertyDescriptor(error, 'durableObjectReset')).toEqual({
      value: true,
      writable: false,
      enumerable: false,
      configurable: true,
    });
  });

  test('[TX2] are undone although a full disk is reported again', () => {
    const error = new Error('the disk is full');
    failing = { sql: 'ROLLBACK', error, ends: true };
    transactions.rollback(transactions.begin());
    expect(events).toEqual([{ implicit: false }]);
    failing = { ...failing, ends: false };
    const frame = transactions.begin();
    expect(() => transactions.rollback(frame)).toThrow(error);
  });

  test('[KV9] are discarded as such', () => {
    transactions.begin();
    transactions.discard();
    expect(events).toEqual([{ implicit: false }]);
    expect(transactions.isImplicit).toBe(true);
  });
});

describe('transactionSync', () => {
  const savepoint = (depth: number) => `_cf_sync_savepoint_${depth}`;

  test('[TX4] is a savepoint of the open transaction, and gives the value', () => {
    const value = transactions.sync(() => transactions.sync(() => 5));
    expect(value).toBe(5);
    expect(said()).toEqual([
      'BEGIN',
      `SAVEPOINT ${savepoint(0)}`,
      `SAVEPOINT ${savepoint(1)}`,
      `RELEASE ${savepoint(1)}`,
      `RELEASE ${savepoint(0)}`,
    ]);
    expect(events).toEqual([]);
    transactions.sync(() => {});
    expect(said()[0]).toBe(`SAVEPOINT ${savepoint(0)}`);
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
      expect(said().slice(-3)).toEqual([
        `SAVEPOINT ${savepoint(0)}`,
        `ROLLBACK TO ${savepoint(0)}`,
        `RELEASE ${savepoint(0)}`,
      ]);
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
    expect([said(), events]).toEqual([['BEGIN', `SAVEPOINT ${savepoint(0)}`], []]);
  });

  test('[TX5] refuses what has a method `then`, and nothing else', () => {
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

  test('[TX8] in which everything was deleted is refused, and undoes nothing more', () => {
    const run = (callback: () => void) => () =>
      transactions.sync(() => {
        transactions.discard();
        transactions.beforeWrite();
        said();
        callback();
      });
    expect(run(() => {})).toThrow(nesting(/deleteAll\(\) inside ended the transaction; call it/));
    expect(said()).toEqual([]);
    const error = new Error('mine');
    expect(
      run(() => {
        throw error;
      }),
    ).toThrow(error);
    expect(said()).toEqual([]);
  });
});

describe('[KV6] writes of one call', () => {
  const SAVEPOINT = '_cf_put_multiple_savepoint';

  test('are a savepoint', () => {
    transactions.beforeWrite();
    transactions.group(() => {});
    expect(said()).toEqual(['BEGIN', `SAVEPOINT ${SAVEPOINT}`, `RELEASE ${SAVEPOINT}`]);
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
      const undone = [`ROLLBACK TO ${SAVEPOINT}`, `RELEASE ${SAVEPOINT}`];
      expect(said()).toEqual([`SAVEPOINT ${SAVEPOINT}`, ...(isThere ? undone : [])]);
      expect(events).toEqual(isThere ? [{ implicit: false }] : []);
    },
  );
});
