// For tests: random rows in this package's tables, which its code cannot have written, and tables that are gone.

import type { SqlStorageValue } from '../../../src/shared/contract/storage.ts';
import type { Random } from '../../testing/simulate/world/random.ts';

/** A statement with its bindings. It may fail, because of a constraint of the table. */
export type Damage = readonly [query: string, ...bindings: SqlStorageValue[]];

const NUMBERS = [
  0,
  1,
  2,
  3,
  4,
  5,
  20,
  1000,
  -1,
  1.5,
  -0.5,
  2 ** 31,
  2 ** 53,
  9e18,
  -9e18,
  1e300,
  Infinity,
];
const TEXTS = [
  '',
  '5',
  '1e2',
  '-3',
  'page',
  'item',
  'pair',
  'gone',
  '{}',
  '[null]',
  '\ufffd',
  'a\0b',
  'x'.repeat(3000),
];

/** Returns a text that is not UTF-8 as well as values of each type. */
function anyValue(random: Random): string | SqlStorageValue[] {
  return random.pick<string | SqlStorageValue[]>([
    [random.pick(NUMBERS)],
    [random.pick(NUMBERS)],
    [random.pick(TEXTS)],
    [random.pick(TEXTS)],
    [null],
    [new Uint8Array(random.below(40)).map(() => random.below(256)).buffer],
    "CAST(x'eda080' AS TEXT)",
    '9223372036854775807',
    '-9223372036854775808',
    'zeroblob(100000)',
  ]);
}

const TABLES: readonly (readonly [name: string, columns: number])[] = [
  ['_follow_client', 8],
  ['_follow_outcome', 3],
  ['_follow_life', 2],
  ['_follow_table', 2],
  ['_follow_schema', 2],
];

/** Returns a row of any values; in `_follow_client`, often one with a call that was begun. */
export function anyRow(random: Random): Damage {
  const [table, columns] = random.pick(TABLES);
  if (table === '_follow_client' && random.onceIn(2)) {
    const name = random.pick(["CAST(x'eda080' AS TEXT)", "'\ufffd'", "'other'", "'a b'", "x'61'"]);
    return [
      `INSERT OR REPLACE INTO ${table} VALUES (${name}, 'eve', 1, 0, 0, ${random.pick([0, -1, 9])}, NULL, NULL)`,
    ];
  }
  return rowOf(
    random,
    table,
    Array.from({ length: columns }, () => anyValue(random)),
  );
}

/** Returns a note of any kind, with any key. */
export function anyNote(random: Random): Damage {
  const id = random.onceIn(3) ? anyValue(random) : 'NULL';
  const kind = random.pick<string | SqlStorageValue[]>([
    ...[['item'], ['pair'], [null], [1], [2], [3], [4]],
    anyValue(random),
  ]);
  return rowOf(random, '_follow_note', [
    id,
    kind,
    ...Array.from({ length: 4 }, () => anyValue(random)),
  ]);
}

/** Returns a statement that removes or renames a table, a view or a trigger. */
export function anyLoss(random: Random): Damage {
  return [
    random.pick([
      ...TABLES.map(([name]) => `DROP TABLE ${name}`),
      ...TABLES.map(([name]) => `ALTER TABLE ${name} RENAME TO moved${name}`),
      ...TABLES.map(([name]) => `DELETE FROM ${name}`),
      ...['DROP TABLE _follow_note', 'ALTER TABLE _follow_note RENAME TO moved_note'],
      ...['DROP VIEW _follow_key', 'DROP TRIGGER _follow_key_noted', 'DROP TRIGGER _follow_i_item'],
    ]),
  ];
}

function rowOf(
  random: Random,
  table: string,
  values: readonly (string | SqlStorageValue[])[],
): Damage {
  const verb = random.onceIn(3) ? 'INSERT OR REPLACE' : 'INSERT OR IGNORE';
  const terms = values.map((value) => (typeof value === 'string' ? value : '?')).join();
  return [
    `${verb} INTO ${table} VALUES (${terms})`,
    ...values.flatMap((value) => (typeof value === 'string' ? [] : value)),
  ];
}
