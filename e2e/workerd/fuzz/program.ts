// Random programs over the storage, as JSON.
//
// Left out on purpose:
//   the differences in docs/compatibility.md: limits, an unread RETURNING
//   rowsRead, and writes to an index on an expression: workerd has an older SQLite, which counts
//   some reads and writes that the newer one does not make
//   databaseSize after deleteAll, where workerd has an empty table of its own, and beside errors,
//   whose stacks are longer or shorter
//   kv.list held across a rollback: workerd may start it again

import fc from 'fast-check';
import { READ_TABLES, schemas, sqlSteps } from './sql-steps.ts';
import type { Step } from './step.ts';
import { storedValues } from './values.ts';

const TRANSACTION_DEPTH_MAX = 2;

/** Far in the future, so that no alarm runs. */
const ALARM_MS = 4_000_000_000_000;

// ---- Keys and values.

const keys = fc.constantFrom(
  ...['a', 'b', 'aa', 'ab', 'é', '\u{1F600}', '\uFF5E', '', 'z\0', '10', '9', '__proto__'],
);
const oneOrMoreKeys = fc.oneof(keys as fc.Arbitrary<unknown>, fc.array(keys, { maxLength: 4 }));

const listOptions = fc
  .tuple(
    seldom(fc.tuple(fc.constantFrom('start', 'startAfter'), keys)),
    seldom(fc.tuple(fc.constant('end'), keys)),
    seldom(fc.tuple(fc.constant('prefix'), keys)),
    seldom(fc.tuple(fc.constant('reverse'), fc.constantFrom(true, false, 'x', 0))),
    seldom(
      fc.tuple(fc.constant('limit'), fc.constantFrom(1, 2, 3, 2.5, '2', 0, -1, null, 'x', true)),
    ),
  )
  .map((members) => Object.fromEntries(members.filter((member) => member !== null)));

/** In 3 of 10 cases; else null. */
function seldom<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 7, arbitrary: fc.constant(null) }, { weight: 3, arbitrary });
}

/** A step with random members. */
function step(
  op: string,
  members: Readonly<Record<string, fc.Arbitrary<unknown>>> = {},
): fc.Arbitrary<Step> {
  return fc.record(members).map((made) => ({ op, ...made }));
}

const keyValueSteps = fc.oneof(
  { weight: 3, arbitrary: step('put', { key: keys, value: storedValues }) },
  step('putMany', { entries: fc.array(fc.tuple(keys, storedValues), { maxLength: 4 }) }),
  { weight: 2, arbitrary: step('get', { keys: oneOrMoreKeys }) },
  step('delete', { keys: oneOrMoreKeys }),
  step('list', { options: listOptions }),
  step('kvPut', { key: keys, value: storedValues }),
  step('kvGet', { key: keys }),
  step('kvDelete', { key: keys }),
  step('kvList', { options: listOptions }),
  step('walk', { id: fc.constant('walk'), options: listOptions }),
  step('step', { id: fc.constant('walk') }),
);

/** Steps that are not part of a transaction. */
const outsideSteps = fc.oneof(
  fc.oneof(
    { weight: 3, arbitrary: step('deleteAll') },
    {
      weight: 7,
      arbitrary: step('setAlarm', { time: fc.nat(999).map((delayMs) => ALARM_MS + delayMs) }),
    },
  ),
  fc.constantFrom('getAlarm', 'deleteAlarm', 'sync', 'tick').map((op): Step => ({ op })),
  step('sync'),
);

// ---- Programs.

function stepsAt(depth: number, withSql: boolean): fc.Arbitrary<Step> {
  const ownSteps =
    depth > 0
      ? keyValueSteps
      : fc.oneof({ weight: 14, arbitrary: keyValueSteps }, { weight: 3, arbitrary: outsideSteps });
  const choices = [
    { weight: withSql ? 40 : 88, arbitrary: ownSteps },
    ...(withSql ? [{ weight: 48, arbitrary: sqlSteps }] : []),
    ...(depth < TRANSACTION_DEPTH_MAX
      ? [{ weight: 12, arbitrary: transactions(stepsAt(depth + 1, withSql)) }]
      : []),
  ];
  return fc.oneof(...choices);
}

function transactions(inner: fc.Arbitrary<Step>): fc.Arbitrary<Step> {
  const steps = fc.array(inner, { minLength: 1, maxLength: 5 });
  // A section inside a synchronous one would begin after it; that is a different program.
  const synchronous = steps.map((all) => all.filter(({ op }) => op !== 'transaction'));
  return fc.oneof(
    step('transaction', { end: fc.constantFrom('commit', 'throw', 'rollback'), steps }),
    step('transactionSync', { end: fc.constantFrom('commit', 'throw'), steps: synchronous }),
  );
}

function programsOver(schema: fc.Arbitrary<Step[]>, withSql: boolean): fc.Arbitrary<Step[]> {
  const steps = fc.array(stepsAt(0, withSql), { minLength: 1, maxLength: 33, size: 'max' });
  const ending: Step[] = [{ op: 'list', options: {} }, { op: 'getAlarm' }];
  return fc
    .tuple(schema, steps)
    .map(([before, during]) =>
      comparable([...before, ...during, ...ending, ...(withSql ? READ_TABLES : [])]),
    );
}

export const programs: fc.Arbitrary<Step[]> = fc.oneof(
  { weight: 3, arbitrary: programsOver(fc.constant([]), false) },
  { weight: 7, arbitrary: programsOver(schemas, true) },
);

// ---- Steps that cannot be compared.

function comparable(steps: readonly Step[]): Step[] {
  return without(steps, [
    ...(has(steps, ({ op }) => op === 'deleteAll') || holdsError(steps) ? ['size'] : []),
    ...(has(steps, ({ end }) => end === 'throw' || end === 'rollback') ? ['walk', 'step'] : []),
  ]);
}

function holdsError(steps: readonly Step[]): boolean {
  return JSON.stringify(steps).includes('["error",');
}

function has(steps: readonly Step[], wanted: (step: Step) => boolean): boolean {
  return steps.some((step) => wanted(step) || has(step.steps ?? [], wanted));
}

function without(steps: readonly Step[], ops: readonly string[]): Step[] {
  return steps
    .filter(({ op }) => !ops.includes(op))
    .map((step) => (step.steps ? { ...step, steps: without(step.steps, ops) } : step));
}
