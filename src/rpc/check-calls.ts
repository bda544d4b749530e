// Checks a page's calls of storage when they reach the worker, by the table of operations. A tab with
// other code than this package's can send anything.
//
// Invariant: a call that passes can be performed. Whatever else is wrong with it (a closed cursor, an
// ended transaction, bad SQL) is an outcome of performing it.

import { checkFlag } from '../contract/call-flag.ts';
import {
  checkArray,
  checkFields,
  checkNumberOf,
  checkString,
  malformed,
} from '../contract/check.ts';
import { eachOf } from '../contract/each-of.ts';
import type { FieldCheck } from '../contract/operation-fields.ts';
import { type AnyOperation, type Call, OPERATIONS, operationOf } from '../contract/operations.ts';
import { checkAddress } from './check-objects.ts';
import type { WireAddress } from './object-protocol.ts';
import { BATCH_CALLS_MAX } from './protocol.ts';

/** The object to open. @throws INVALID_ARGUMENT */
export function checkTarget(value: unknown): string | WireAddress {
  return typeof value === 'string' ? value : checkAddress(value);
}

/** A message of calls; if one is malformed, none of them runs. @throws as checkCall */
export function checkCalls(value: unknown): readonly Call[] {
  const calls = eachOf(checkArray('calls', value, BATCH_CALLS_MAX), checkCall);
  if (calls.length > 1 && calls.some(({ op }) => operationOf(op).travelsAlone)) {
    throw malformed('calls', 'one call only, as begin and importDatabase need');
  }
  return calls;
}

/** @throws INVALID_ARGUMENT, KEY_TOO_LARGE, TOO_MANY_KEYS, VALUE_TOO_LARGE */
export function checkCall(value: unknown): Call {
  const fields = checkFields('call', value);
  const op = checkString('op', fields.op);
  const checks = CHECKS.get(op);
  if (checks === undefined) throw malformed('op', 'one of the protocol');
  const call: Record<string, unknown> = { op };
  for (const { name, check } of checks) call[name] = check(name, fields[name], op);
  if (fields.flag !== undefined) call.flag = checkFlag(fields.flag);
  if (fields.moment !== undefined) call.moment = checkNumberOf('moment', fields.moment);
  if (fields.txn !== undefined) call.txn = checkNumberOf('txn', fields.txn);
  return call as Call;
}

interface NamedCheck {
  readonly name: string;
  readonly check: FieldCheck<unknown>;
}

/** A map, because `op` may be any string, for example `__proto__`. */
const CHECKS: ReadonlyMap<string, readonly NamedCheck[]> = new Map(
  Object.entries<AnyOperation>(OPERATIONS).map(([op, { fields }]) => [
    op,
    Object.entries(fields).map(([name, check]) => ({ name, check })),
  ]),
);
