import { describe, expect, test } from 'vitest';
import * as field from '../contract/arguments.ts';
import { checkBindings } from '../contract/bindings.ts';
import {
  checkBranchId,
  checkBranchName,
  checkBranchNameOrNull,
} from '../contract/branch-arguments.ts';
import { checkDecisions } from '../contract/decisions.ts';
import { checkCommitCount } from '../contract/history-options.ts';
import { checkKeyRange } from '../contract/list-options.ts';
import { checkReverted } from '../contract/reverted-commits.ts';
import { checkStatements } from '../contract/sql-statements.ts';
import { checkMoment, checkStateName } from '../contract/state-name.ts';
import { checkAlarmTime, checkTimeOrNull } from '../contract/times.ts';
import * as bulk from './bulk.ts';
import { OPERATIONS, type OperationName, operationOf } from './operations.ts';
import { checkCall } from './protocol.ts';

/** A valid value for each check. Add one for each new check. */
const SAMPLES = new Map<unknown, unknown>([
  [field.string, 'text'],
  [field.boolean, true],
  [field.number, 1.5],
  [field.numberOf, 3],
  [field.bytes, new Uint8Array(2)],
  [field.bytesOrNull, null],
  [field.stringOrNull, 'text'],
  [checkTimeOrNull, 1_700_000_000_000],
  [checkMoment, 'a bookmark'],
  [checkStateName, { branch: '0123456789abcdef0123456789abcdef', bookmark: null }],
  [checkBranchId, '0123456789abcdef0123456789abcdef'],
  [checkBranchName, 'draft'],
  [checkBranchNameOrNull, null],
  [checkDecisions, { at: 'a bookmark', each: ['ours', 'theirs'] }],
  [checkCommitCount, 7],
  [checkReverted, ['a bookmark', 'another']],
  [field.keys, ['a', 'b']],
  [field.entries, [['a', new Uint8Array([0xff, 0x0f, 0x30])]]],
  [checkKeyRange, { start: new Uint8Array(0), end: null, reverse: false, limit: 5 }],
  [checkAlarmTime, 1_700_000_000_000],
  [checkBindings, [1, 'x', null, new Uint8Array(1)]],
  [field.rowCount, 100],
  [checkStatements, [{ query: 'SELECT ?', bindings: [1] }]],
  [bulk.rowWidth, 2],
  [bulk.rowChunks, [{ count: 1, json: new TextEncoder().encode('[1,null]'), odd: [[1, -0]] }]],
  [bulk.entryChunks, [{ keys: ['a'], ends: [3], bytes: new Uint8Array([0xff, 0x0f, 0x30]) }]],
]);

const NAMES = Object.keys(OPERATIONS) as OperationName[];

function wellFormed(op: OperationName): Record<string, unknown> {
  const fields = Object.entries(operationOf(op).fields).map(([name, check]) => {
    if (!SAMPLES.has(check)) throw new Error(`No sample for ${op}.${name}.`);
    return [name, SAMPLES.get(check)];
  });
  return { op, ...Object.fromEntries(fields) };
}

const malformed = expect.objectContaining({
  code: 'INVALID_ARGUMENT',
  message: expect.stringContaining('Malformed message: '),
});

describe.for(NAMES)('%s', (op) => {
  test('[BORDER6] passes with its own fields only', () => {
    const call = wellFormed(op);
    expect(checkCall({ ...call, extra: 1, toString: 2 })).toEqual(call);
    expect(checkCall({ ...call, txn: 7 })).toEqual({ ...call, txn: 7 });
    expect(checkCall({ ...call, moment: 8 })).toEqual({ ...call, moment: 8 });
  });

  test('[BORDER6] is refused when a field has another type', () => {
    const call = wellFormed(op);
    const names = [...Object.keys(operationOf(op).fields), 'op', 'txn', 'moment'];
    for (const name of names) {
      for (const odd of [{}, 10n, Number.NaN, new Map(), [[]], new Float64Array(1)]) {
        expect(() => checkCall({ ...call, [name]: odd }), name).toThrow(malformed);
      }
      if (name === 'txn' ? !('txn' in call) : name === 'moment') continue; // optional
      const { [name]: _missing, ...rest } = call;
      expect(() => checkCall(rest), name).toThrow(malformed);
    }
  });
});
