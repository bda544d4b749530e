// Random SELECTs over one schema that has a table of each kind, joined in every way, and written in any case.

import fc from 'fast-check';

/** Tables and views with columns of the same names, so that each pair has columns to join by. */
export const SCHEMA: readonly string[] = [
  'CREATE TABLE note(id TEXT PRIMARY KEY, body, at)',
  'CREATE TABLE starred(id TEXT PRIMARY KEY, at) WITHOUT ROWID',
  'CREATE TABLE loose(id, body)',
  'CREATE INDEX loose_all ON loose(id, body)',
  'CREATE TABLE numbered(id INTEGER PRIMARY KEY AUTOINCREMENT, body)',
  'CREATE TABLE child(id REFERENCES note(id) ON DELETE CASCADE, at)',
  'CREATE INDEX child_id ON child(id) WHERE at > 1',
  'CREATE TABLE "Log"(id, line)',
  'CREATE VIRTUAL TABLE words USING fts5(id, body)',
  'CREATE VIRTUAL TABLE boxes USING rtree(id, body, at)',
  'CREATE VIEW both AS SELECT id, note.body FROM note NATURAL JOIN starred',
  'CREATE VIEW all_ids(id) AS SELECT id FROM loose UNION SELECT id FROM starred FULL JOIN child USING (id)',
  'CREATE TRIGGER noted AFTER INSERT ON note BEGIN' +
    ' INSERT INTO "Log" SELECT id, 1 FROM loose JOIN starred USING (id); END',
  'CREATE TRIGGER shown INSTEAD OF DELETE ON both BEGIN DELETE FROM starred WHERE id = old.id; END',
];

/** Names in the statements that are no tables. */
export const NOT_TABLES: ReadonlySet<string> = new Set(['both', 'all_ids', 'r']);

const STORED = ['note', 'starred', 'loose', 'numbered', 'child', 'Log', 'words', 'boxes'];
const READABLE = [...STORED, 'both', 'all_ids'];

/** Text with random parts. */
function text(fixed: TemplateStringsArray, ...parts: fc.Arbitrary<unknown>[]) {
  return fc.tuple(...parts).map((values) => String.raw({ raw: fixed }, ...values));
}

/** The name as it is, in capitals, or in quotes. */
function written(name: string): fc.Arbitrary<string> {
  return fc.constantFrom(name, name, name.toUpperCase(), `"${name}"`, `main.${name}`);
}

/** SELECTs that name these tables beside those of the schema. */
export function selects(moreTables: readonly string[] = []): fc.Arbitrary<string> {
  const tables = fc.constantFrom(...READABLE, ...moreTables).chain(written);
  return select(tables, 2);
}

const JOINS = ['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'CROSS JOIN', 'INNER JOIN'];
const RESULTS = [
  ...['1', 'count(*)', 'id', '*', 'max(id)', 'count(id)', 'a.id', 'b.id', 'a.*', 'b.*'],
  ...['row_number() OVER (ORDER BY id)', 'group_concat(b.id)', 'a.rowid', 'coalesce(id, 1)'],
];

function select(tables: fc.Arbitrary<string>, depth: number): fc.Arbitrary<string> {
  const one = depth === 0 ? tables : fc.oneof({ weight: 5, arbitrary: tables }, inner());
  function inner() {
    return fc.oneof(
      text`(SELECT id FROM ${tables})`,
      text`(SELECT id, count(*) AS body FROM ${tables} GROUP BY id)`,
      text`(${select(tables, depth - 1)})`,
      fc.constant("(SELECT value AS id FROM json_each('[1, 2]'))"),
    );
  }
  const from = fc.oneof(
    text`${one} AS a`,
    text`${one} AS a, ${one} AS b`,
    text`${one} AS a ${fc.constantFrom(...JOINS)} ${one} AS b USING (id)`,
    text`${one} AS a ${fc.constantFrom(...JOINS)} ${one} AS b USING (id, body)`,
    text`${one} AS a NATURAL ${fc.constantFrom(...JOINS)} ${one} AS b`,
    text`${one} AS a ${fc.constantFrom(...JOINS)} ${one} AS b ON a.id = b.id`,
    text`${one} AS a NATURAL JOIN ${one} AS b NATURAL ${fc.constantFrom(...JOINS)} ${tables} AS c`,
    text`${one} AS a JOIN ${one} AS b USING (id) FULL JOIN ${tables} AS c USING (id)`,
    text`(${one} AS a NATURAL JOIN ${one} AS b) LEFT JOIN ${tables} AS c USING (id)`,
  );
  const simple = text`SELECT ${fc.constantFrom('', 'DISTINCT ')}${fc.constantFrom(...RESULTS)} FROM ${from}`;
  if (depth === 0) return simple;
  const sub = select(tables, depth - 1);
  const ending = fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    text` WHERE EXISTS (${sub})`,
    text` WHERE 1 IN (${sub})`,
    text` WHERE id IN (SELECT id FROM ${tables} NATURAL JOIN ${tables})`,
    text` WHERE (SELECT count(*) FROM ${tables} JOIN ${tables} USING (id)) > 0`,
    fc.constant(' GROUP BY id HAVING count(*) > 1'),
    fc.constant(' ORDER BY id LIMIT 3'),
  );
  return fc.oneof(
    { weight: 4, arbitrary: text`${simple}${ending}` },
    text`${simple} ${fc.constantFrom('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')} ${simple}`,
    text`WITH note(id) AS ${fc.constantFrom('', 'MATERIALIZED ', 'NOT MATERIALIZED ')}(${sub}) ${simple}`,
    text`WITH RECURSIVE r(id) AS (SELECT 1 UNION SELECT id FROM r NATURAL JOIN ${tables} LIMIT 3) SELECT 1 FROM r`,
    text`SELECT (${sub}), EXISTS (${sub})`,
  );
}

/** Statements that write, with a SELECT inside. */
export function writes(moreTables: readonly string[] = []): fc.Arbitrary<string> {
  const sub = selects(moreTables);
  const tables = fc.constantFrom(...STORED).chain(written);
  return fc.oneof(
    text`INSERT INTO ${tables}(id) ${sub}`,
    text`REPLACE INTO ${tables}(id) VALUES (1)`,
    text`INSERT INTO ${tables}(id) VALUES ((${sub})) ON CONFLICT DO NOTHING`,
    text`UPDATE ${tables} SET id = 1 WHERE EXISTS (${sub})`,
    text`UPDATE ${tables} AS w SET id = s.id FROM (SELECT id FROM starred NATURAL JOIN ${tables}) AS s`,
    text`DELETE FROM ${tables} WHERE id IN (${sub})`,
    text`DELETE FROM ${tables}`,
    text`DELETE FROM ${written('both')} WHERE id = 1`,
    text`INSERT INTO ${tables}(id) VALUES (1) RETURNING (${sub})`,
  );
}
