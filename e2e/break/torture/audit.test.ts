import { describe, expect, test } from 'vitest';
import { faultsOf } from './each-commit.ts';
import { type Found, Ledger } from './ledger.ts';
import { FAULTS, planOf, type Step } from './plan.ts';

const WHOLE: Found = {
  rows: [
    { id: 'a:sql:0', n: 0 },
    { id: 'a:txn:0', n: 1 },
    { id: 'b:txn:0', n: 2 },
    { id: 'a:sql:1', n: 0 },
  ],
  keys: ['a:put:0'],
  transactions: 2,
  calls: [{ id: 'b:call:4', n: 1 }],
  callCount: 1,
  checks: ['ok', 'ok'],
  torn: [],
};

const ACKNOWLEDGED = ['a:sql:0', 'a:txn:0', 'a:sql:1', 'a:put:0', 'b:call:4'];

function audit(found: Partial<Found>): string[] {
  const ledger = new Ledger();
  for (const id of ACKNOWLEDGED) ledger.enter({ id, failure: null });
  return ledger.audit({ ...WHOLE, ...found });
}

describe('the audit of a torture', () => {
  test('[DUR5] finds nothing wrong when all is there, with a write that was not acknowledged', () => {
    expect(audit({})).toEqual([]);
  });

  const WRONG: readonly (readonly [what: string, found: Partial<Found>, fault: string])[] = [
    ['an acknowledged write that is lost', { keys: [] }, 'a:put:0 is lost'],
    ['a call that is lost', { calls: [], callCount: 0 }, 'b:call:4 is lost'],
    ['a write made twice', { rows: [...WHOLE.rows, WHOLE.rows[3]!] }, 'a:sql:1 is there 2 times'],
    ['a half transaction', { transactions: 3 }, 'transactions: 2 rows, but 3 are counted'],
    [
      'writes out of order',
      { rows: [WHOLE.rows[3]!, ...WHOLE.rows.slice(0, 3)] },
      'a:sql:0 comes after a:sql:1',
    ],
    ['a half call', { torn: ['the commit of add has 2 rows'] }, 'the commit of add has 2 rows'],
    ['damage', { checks: ['ok', 'row 1 missing'] }, 'quick_check: row 1 missing'],
  ];
  test.each(WRONG)('[DUR5] finds %s', (_, found, fault) => {
    expect(audit(found)).toContain(fault);
  });

  test('[FULL1] of a write that a full disk refused, nothing is there; a full disk refuses no read', () => {
    const refused = { failure: { code: 'DISK_FULL', retryable: false } };
    const small = new Ledger({ isSmall: true });
    small.enter({ id: 'a:sql:0', ...refused });
    small.enter({ id: 'c:put:0', ...refused });
    small.enter({ id: 'c:live rows', ...refused, isRead: true });
    expect([small.refused, small.rejected]).toEqual([2, 3]);
    expect(small.audit(WHOLE)).toEqual([
      'c:live rows was rejected with DISK_FULL',
      'a:sql:0 was refused and is there',
    ]);
    const large = new Ledger();
    large.enter({ id: 'c:put:0', ...refused });
    expect(large.audit(WHOLE)).toEqual(['c:put:0 was rejected with DISK_FULL']);
  });

  test('[DUR5] an error that nobody may try again is a fault', () => {
    const ledger = new Ledger();
    ledger.enter({ id: 'a:sql:0', failure: { code: 'CONNECTION_CLOSED', retryable: true } });
    ledger.enter({ id: 'a:sql:1', failure: { code: 'INTERNAL', retryable: false } });
    expect(ledger.audit(WHOLE)).toEqual(['a:sql:1 was rejected with INTERNAL']);
  });
});

test('[DUR5] a commit with half of a call, or with calls of two methods, is a fault', () => {
  const whole = {
    method: 'add',
    kind: 'call',
    rows: 3,
    copies: 3,
    count: 3,
    alarm: 3,
    added: ['add'],
  };
  expect(faultsOf(whole)).toEqual([]);
  expect(faultsOf({ ...whole, added: null })).toEqual([]);
  for (const name of ['rows', 'copies', 'count', 'alarm'] as const) {
    expect(faultsOf({ ...whole, [name]: 2 })).toHaveLength(1);
  }
  expect(faultsOf({ ...whole, added: ['add', 'addToo'] })).toEqual([
    'the commit of add has a call of addToo',
  ]);
});

test('[DUR5] a seed gives one plan, with every fault in it', () => {
  const stepsOf = (seed: number) => {
    const plan = planOf(seed, FAULTS.chromium);
    return Array.from({ length: 200 }, (): Step => plan.next().value);
  };
  expect(stepsOf(7)).toEqual(stepsOf(7));
  expect(stepsOf(7)).not.toEqual(stepsOf(8));
  expect(new Set(stepsOf(7).map(({ fault }) => fault))).toEqual(new Set(FAULTS.chromium));
});
