// Sound database files of many sorts, and changes to them that a parser may get wrong.

import type { Draws } from '../../../packages/testing/page/draws.ts';
import {
  makeFile,
  makeWal,
  walTransaction,
} from '../../../packages/testing/worker/foreign-files.ts';
import { mutate } from './byte-mutations.ts';

const PAGE_BYTES = 4096;

const OWN =
  'CREATE TABLE _cf_KV (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;' +
  'CREATE TABLE _cf_METADATA (key INTEGER PRIMARY KEY, value BLOB);' +
  "INSERT INTO _cf_KV VALUES ('k', x'ff0f4904'), ('text', x'ff0f2201' || x'61');";

const PARTS = [
  'CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT DEFAULT (1 + 1), c BLOB CHECK (c IS NOT 5)); INSERT INTO t(b, c) VALUES (1, 2), (3, 4);',
  "CREATE TABLE long(text); INSERT INTO long VALUES (printf('%.20000c', 'x'));",
  'CREATE TABLE n(x); WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r LIMIT 600) INSERT INTO n SELECT i FROM r; CREATE INDEX ni ON n(x, -x) WHERE x > 5;',
  'CREATE TABLE w(a, b, PRIMARY KEY (b, a)) WITHOUT ROWID; INSERT INTO w VALUES (1, 2);',
  'CREATE TABLE g(a, b GENERATED ALWAYS AS (a * 2) STORED, c AS (b + 1)); INSERT INTO g(a) VALUES (3);',
  'CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE ch(p REFERENCES p(id) ON DELETE CASCADE); INSERT INTO p VALUES (1); INSERT INTO ch VALUES (1);',
  'CREATE TABLE l(x); CREATE TABLE tr(x); CREATE TRIGGER trg AFTER INSERT ON tr BEGIN INSERT INTO l VALUES (new.x); END;',
  'CREATE TABLE v1(x); CREATE VIEW v AS SELECT x, upper(x) FROM v1 WHERE x > 0;',
  "CREATE VIRTUAL TABLE f USING fts5(a, b); INSERT INTO f VALUES ('one two', 'three');",
  'CREATE VIRTUAL TABLE rt USING rtree(id, x0, x1); INSERT INTO rt VALUES (1, 0, 1);',
  'CREATE TABLE s(a INT, b TEXT) STRICT; INSERT INTO s VALUES (1, 2); CREATE TABLE au(i INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO au DEFAULT VALUES;',
];

/** Small schemas that cost much to check. */
const COSTLY: readonly (() => string)[] = [
  () =>
    `CREATE TABLE many(x); ${numbered(1000, (i) => `CREATE TRIGGER m${i} AFTER INSERT ON many BEGIN SELECT ${i}; END;`)}`,
  () =>
    `CREATE VIEW d0 AS SELECT 1 AS x; ${numbered(20, (i) => `CREATE VIEW d${i + 1} AS SELECT a.x FROM d${i} a, d${i} b;`)}`,
  () =>
    `CREATE TABLE slow(x); CREATE INDEX si ON slow(length(hex(zeroblob(x * 100000)))); ${numbered(40, () => 'INSERT INTO slow VALUES (1);')}`,
];

function numbered(count: number, make: (index: number) => string): string {
  return Array.from({ length: count }, (_, i) => make(i)).join(' ');
}

/** A file that an object takes. */
export function soundFile(draws: Draws): Promise<Uint8Array> {
  const parts = PARTS.filter(() => draws.chance(0.35));
  if (draws.chance(0.01)) parts.push(draws.pick(COSTLY)());
  return makeFile(OWN + parts.join(''));
}

export interface HostileFile {
  readonly database: Uint8Array;
  readonly wal: Uint8Array | null;
}

/** A file that was changed as a whole, in its header, in a page or in the text of its schema. */
export async function hostileFile(draws: Draws): Promise<HostileFile> {
  let database = await soundFile(draws);
  const count = 1 + draws.below(6);
  for (let i = 0; i < count; i++) database = changed(database, draws);
  return { database, wal: null };
}

/** A sound file with a WAL that was changed: in its frames, or in the pages it brings. */
export async function hostileWal(draws: Draws): Promise<HostileFile> {
  const database = await soundFile(draws);
  let after = await soundFile(draws);
  // A page that is changed first has a sound sum.
  if (draws.chance(0.5)) after = padded(changed(after, draws));
  const transactions = [walTransaction(database, after)];
  if (draws.chance(0.5)) transactions.push(walTransaction(after, await soundFile(draws)));
  if (draws.chance(0.3)) {
    const [first] = transactions;
    transactions[0] = {
      pages: first!.pages,
      pageCountAfter: draws.pick([0, 1, 2 ** 32 - 1, 500]),
    };
  }
  let wal = makeWal(transactions, { isBigEndian: draws.chance(0.5) });
  const count = draws.below(4);
  for (let i = 0; i < count; i++) wal = mutate(wal, draws, 0, draws.pick([32, 56, wal.length]));
  return { database: draws.chance(0.9) ? database : changed(database, draws), wal };
}

function changed(file: Uint8Array, draws: Draws): Uint8Array {
  const pageCount = Math.ceil(file.length / PAGE_BYTES);
  const page = PAGE_BYTES * draws.below(Math.max(1, pageCount));
  switch (draws.below(7)) {
    case 0:
      return inPlace(file, draws, 0, 100);
    case 1:
      // A page's header and its cells' pointers.
      return inPlace(file, draws, page + (page === 0 ? 100 : 0), page + 140);
    case 2:
      return inPlace(file, draws, page, page + PAGE_BYTES);
    case 3:
      return rewordedSchema(file, draws);
    case 4: {
      const other = PAGE_BYTES * draws.below(Math.max(1, pageCount));
      const copy = file.slice();
      copy.set(file.subarray(page, page + PAGE_BYTES).subarray(0, file.length - other), other);
      return copy;
    }
    case 5:
      return file.slice(0, draws.chance(0.5) ? page : draws.below(file.length + 1));
    default:
      return mutate(file, draws);
  }
}

/** Mostly the length stays, or every page after it would be another. */
function inPlace(file: Uint8Array, draws: Draws, from: number, below: number): Uint8Array {
  const copy = file.slice();
  const end = Math.min(below, file.length);
  if (end <= from) return copy;
  const count = 1 + draws.below(4);
  for (let i = 0; i < count; i++) {
    const at = from + draws.below(end - from);
    copy[at] = draws.chance(0.5) ? copy[at]! ^ (1 << draws.below(8)) : draws.below(256);
  }
  return copy;
}

const WORDS: readonly (readonly [string, string])[] = [
  ['CREATE TABLE t', 'CREATE TABLE T'],
  ['_cf_KV', '_cf_kv'],
  ['_cf_METADATA', '_cf_MetaDatx'],
  ['REFERENCES p(id)', 'REFERENCES _cf_KV'],
  ['upper', 'eval0'],
  ['fts5', 'csv99'],
  ['INSERT INTO l ', 'DELETE FROM  l '],
  ['SELECT x, ', 'SELECT v, '],
  ['FROM v1', 'FROM v '],
  ['PRIMARY KEY', 'PRIMARY KEX'],
  ['WITHOUT ROWID', 'WITHOUT ROWIX'],
  ['1 + 1', 'b + 1'],
  ['a * 2', 'c * 2'],
];

/** Replaces words of the schema by others of the same length, which makes a schema that no program could have made. */
function rewordedSchema(file: Uint8Array, draws: Draws): Uint8Array {
  const copy = Buffer.from(file);
  const [from, to] = draws.pick(WORDS);
  const at = copy.indexOf(from);
  if (at >= 0) copy.write(to.padEnd(from.length).slice(0, from.length), at, 'latin1');
  return new Uint8Array(copy);
}

function padded(file: Uint8Array): Uint8Array {
  const whole = new Uint8Array(Math.ceil(file.length / PAGE_BYTES) * PAGE_BYTES);
  whole.set(file);
  return whole;
}
