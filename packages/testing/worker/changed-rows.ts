// For tests of differences: the results of diff, revert and merge of a random table, reckoned by plain SQL.
//
// All rows of the states are read as literals, and put into tables of another object, where SQLite says which rows are the
// same row. Nothing of the code under test is used for that.

import fc from 'fast-check';
import { expect } from 'vitest';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { type ChangesCase, changesCase, type Program, type TableCase } from './row-programs.ts';

/** A row: its stored columns as literals. */
interface DumpedRow {
  readonly cells: readonly string[];
  readonly rowid: string | null;
  /** True if the row's key distinguishes it from all other rows. */
  readonly isNamed: boolean;
}

/** Indexes of the rows of two states that are the same row. */
type Pairs = ReadonlyMap<number, number>;

/** Two objects: one is written, one reckons. */
interface TwoObjects {
  readonly storage: StorageHandle;
  readonly reckoner: StorageHandle;
}

/** Half of the longest text. */
const TEXT_MAX = 50_000;

/** The interesting events of a case, counted so that a test can check that each of them occurs. */
export type Happening = (typeof HAPPENINGS)[number];
export const HAPPENINGS = [
  'nothing',
  'unnamed',
  'changed',
  'merged',
  'conflict',
  'constraint',
] as const;

class Box extends DurableObject {}

/** Checks random cases; returns their happenings. @throws with the seed, and the smallest case */
export async function checkRandomChanges(
  runs: number,
  seed: number | undefined,
): Promise<ReadonlySet<Happening>> {
  const objects = await createObjects({ Box });
  const seen = new Set<Happening>();
  let boxes = 0;
  try {
    const reckoner = await objects.storage(objects.env.Box.getByName('reckoner'));
    const property = fc.asyncProperty(changesCase, async (one) => {
      const storage = await objects.storage(objects.env.Box.getByName(`box ${++boxes}`));
      for (const each of await checkChanges({ storage, reckoner }, one)) seen.add(each);
      await storage.close();
    });
    await fc.assert(property, { numRuns: runs, ...(seed !== undefined && { seed }) });
  } finally {
    await objects.close();
  }
  return seen;
}

async function checkChanges(
  { storage, reckoner }: TwoObjects,
  { table, first, theirs, ours, onConflict }: ChangesCase,
): Promise<Set<Happening>> {
  const happened = new Set<Happening>();
  const run = async (program: Program): Promise<string> => {
    await storage.transaction(async () => {
      for (const sql of program) await storage.sql.exec(sql).ready.catch(mustBeRefusal);
    });
    return storage.getCurrentBookmark();
  };
  await storage.transaction(async () => {
    for (const sql of table.create) await storage.sql.exec(sql).ready;
  });
  const from = await run(first);
  const base = await dump(storage, table);
  const to = await run(theirs);
  const after = await dump(storage, table);
  if (to === from) return happened.add('nothing');

  const same = await pairsOf(reckoner, table, base, after);
  const counts = { added: after.length - same.size, changed: 0, removed: base.length - same.size };
  for (const [i, j] of same) if (!areEqual(base[i]!, after[j]!)) counts.changed++;
  const { tables, unnamed } = await storage.diff(from, to).count();
  const hasRows = counts.added + counts.changed + counts.removed > 0;
  const hidesRowids = table.rowid === null && [...base, ...after].some(({ isNamed }) => !isNamed);
  if (hidesRowids) {
    if (!areSame(base, after)) expect(unnamed).toEqual(['t']);
    return happened.add('unnamed');
  }
  expect([tables.t, unnamed]).toEqual([hasRows ? counts : undefined, []]);
  if (hasRows) happened.add('changed');
  await checkListed(storage, from, to);

  // Rows without a key come back to their rowids, which rows with a key may have taken.
  const isTaken = (old: readonly DumpedRow[], now: readonly DumpedRow[]) =>
    old.some((row) => !row.isNamed && now.some((one) => one.isNamed && one.rowid === row.rowid));
  if (hasRows && !isTaken(base, after) && !isTaken(after, base)) {
    const undone = await storage.revert(to);
    expect(sortedTexts(await dump(storage, table))).toEqual(sortedTexts(base));
    expect(undone).not.toBeNull();
    await storage.revert(undone!);
    expect(sortedTexts(await dump(storage, table))).toEqual(sortedTexts(after));
  }

  await storage.restore(from);
  await run(ours);
  const present = await dump(storage, table);
  const expected = await expectedMerge(reckoner, table, { base, after, present, same, onConflict });
  const made = storage.merge({ from, to }, onConflict && { onConflict });
  if (expected === 'changed' || expected === 'constraint') {
    await expect(made).rejects.toMatchObject({
      code: 'CONFLICT',
      conflicts: expect.arrayContaining([expect.objectContaining({ reason: expected })]),
    });
    expect(sortedTexts(await dump(storage, table))).toEqual(sortedTexts(present));
    happened.add(expected === 'changed' ? 'conflict' : 'constraint');
  } else {
    await made;
    expect(sortedTexts(await dump(storage, table))).toEqual(sortedTexts(expected));
    expect(await storage.sql.exec('PRAGMA quick_check').raw().toArray()).toEqual([['ok']]);
    happened.add('merged');
  }
  return happened;
}

/** The rows that a merge must give, or why it is refused: the changed rows are taken out and put in. */
async function expectedMerge(
  reckoner: StorageHandle,
  table: TableCase,
  states: {
    readonly base: readonly DumpedRow[];
    readonly after: readonly DumpedRow[];
    readonly present: readonly DumpedRow[];
    readonly same: Pairs;
    readonly onConflict: 'ours' | 'theirs' | undefined;
  },
): Promise<readonly DumpedRow[] | 'changed' | 'constraint'> {
  const { base, after, present, same, onConflict } = states;
  const [ofBase, ofAfter] = [
    await pairsOf(reckoner, table, base, present),
    await pairsOf(reckoner, table, after, present),
  ];
  const removed = new Set<number>();
  const added: DumpedRow[] = [];
  let conflicts = 0;
  const change = (old: DumpedRow | null, now: DumpedRow | null, at: number | undefined) => {
    const one = at === undefined ? null : present[at]!;
    if (areEqual(old, now) || areEqual(one, now)) return;
    if (!areEqual(one, old)) {
      conflicts++;
      if (onConflict !== 'theirs') return;
    }
    if (at !== undefined) removed.add(at);
    if (now !== null) added.push(now);
  };
  const found = new Set(same.values());
  for (const [i, old] of base.entries()) {
    const j = same.get(i);
    change(old, j === undefined ? null : after[j]!, ofBase.get(i));
  }
  for (const [j, now] of after.entries()) if (!found.has(j)) change(null, now, ofAfter.get(j));
  if (conflicts > 0 && onConflict === undefined) return 'changed';
  const kept = present.filter((_, i) => !removed.has(i));
  // Rows that must have a rowid come before rows that take any.
  const byRowid = [...kept, ...added.filter(({ isNamed }) => !isNamed)];
  const rows = [
    ...byRowid.map((row) => insertOf(table, row, true)),
    ...added.filter(({ isNamed }) => isNamed).map((row) => insertOf(table, row, false)),
  ];
  const texts = ['DROP TABLE IF EXISTS t', ...table.create, ...rows];
  try {
    await runAll(reckoner, texts);
  } catch (error) {
    mustBeRefusal(error);
    return 'constraint';
  }
  return [...kept, ...added];
}

/** The listed changes, applied to the rows of one moment, give those of the other one. */
async function checkListed(storage: StorageHandle, from: string, to: string): Promise<void> {
  const rowsAt = async (bookmark: string) => {
    const moment = await storage.at(bookmark);
    try {
      return (await moment.sql.exec('SELECT * FROM t').toArray()).map(textOf);
    } finally {
      await moment.close();
    }
  };
  const rows = await rowsAt(from);
  const added: string[] = [];
  for await (const change of storage.diff(from, to)) {
    if (change.kind !== 'row') continue;
    if (change.before !== null) {
      const at = rows.indexOf(textOf(change.before));
      expect(at).toBeGreaterThanOrEqual(0);
      rows.splice(at, 1);
    }
    if (change.after !== null) added.push(textOf(change.after));
  }
  expect([...rows, ...added].sort()).toEqual((await rowsAt(to)).sort());
}

async function dump(storage: StorageHandle, table: TableCase): Promise<DumpedRow[]> {
  const { columns, key, rowid } = table;
  const names = columns.map(({ name }) => name);
  const sql = `SELECT ${[rowid ?? 'NULL', ...names.map(literalOf)].join()} FROM t`;
  const rows = (await storage.sql.exec(sql).raw().toArray()) as (string | number | null)[][];
  return rows.map(([number, ...cells]) => ({
    cells: cells as string[],
    rowid: number === null ? null : String(number),
    isNamed:
      key.length > 0 && key.every(({ column }) => cells[names.indexOf(column.name)] !== 'NULL'),
  }));
}

/** The pairs of the same row: by the order of the key's index, or by their rowids. */
async function pairsOf(
  reckoner: StorageHandle,
  { columns, key }: TableCase,
  one: readonly DumpedRow[],
  other: readonly DumpedRow[],
): Promise<Pairs> {
  const parts = key.map(({ column, collation }, i) => ({ column, collation, name: `k${i}` }));
  const types = parts.map(({ column, name }) => `, ${name} ${column.type}`).join('');
  const texts: string[] = [];
  for (const [name, rows] of Object.entries({ one, other })) {
    texts.push(`DROP TABLE IF EXISTS ${name}`, `CREATE TABLE ${name} (i, named, r ${types})`);
    for (const [i, { cells, rowid, isNamed }] of rows.entries()) {
      const keyCells = key.map(
        ({ column }) => cells[columns.findIndex((c) => c.name === column.name)],
      );
      const values = [i, Number(isNamed), rowid ?? 'NULL', ...keyCells];
      texts.push(`INSERT INTO ${name} VALUES (${values})`);
    }
  }
  await runAll(reckoner, texts);
  const same = parts.map(({ name, collation }) => `x.${name} = y.${name} COLLATE ${collation}`);
  const sql = `SELECT x.i, y.i FROM one x, other y WHERE x.named = y.named AND
    CASE x.named WHEN 1 THEN ${same.join(' AND ') || '0'} ELSE x.r = y.r END`;
  const found = (await reckoner.sql.exec(sql).raw().toArray()) as [number, number][];
  return new Map(found);
}

function insertOf(table: TableCase, { cells, rowid }: DumpedRow, keepsRowid: boolean): string {
  const names = table.columns.map(({ name }) => name);
  const values = [...cells];
  if (keepsRowid && rowid !== null && !names.includes(table.rowid!)) {
    names.unshift(table.rowid!);
    values.unshift(rowid);
  }
  return `INSERT OR ABORT INTO t (${names.join()}) VALUES (${values.join()})`;
}

/** Runs the statements in texts that are not too long. */
async function runAll(handle: StorageHandle, statements: readonly string[]): Promise<void> {
  let text = '';
  for (const statement of statements) {
    if (text.length + statement.length > TEXT_MAX) {
      await handle.sql.exec(text).ready;
      text = '';
    }
    text += `${statement};`;
  }
  await handle.sql.exec(text).ready;
}

/** A value as a literal: texts with NUL, and the sign of zero, are kept. */
function literalOf(column: string): string {
  return `CASE typeof(${column})
    WHEN 'text' THEN 'CAST(x''' || hex(CAST(${column} AS BLOB)) || ''' AS TEXT)'
    WHEN 'real' THEN CASE WHEN ${column} = 0.0 AND atan2(0.0, ${column}) > 1 THEN '-0.0' ELSE quote(${column}) END
    ELSE quote(${column}) END`;
}

function areEqual(one: DumpedRow | null, other: DumpedRow | null): boolean {
  if (one === null || other === null) return one === other;
  return one.cells.join() === other.cells.join();
}

function areSame(one: readonly DumpedRow[], other: readonly DumpedRow[]): boolean {
  return sortedTexts(one).join('\n') === sortedTexts(other).join('\n');
}

/** Returns the rows as sorted texts. The rowid of a row with a key is left out, because any is right. */
function sortedTexts(rows: readonly DumpedRow[]): string[] {
  return rows.map(({ cells, rowid, isNamed }) => `${isNamed ? '' : rowid} ${cells.join()}`).sort();
}

function textOf(row: object): string {
  return JSON.stringify(row, (_, value) => {
    if (value instanceof ArrayBuffer) return `blob ${Buffer.from(value).toString('hex')}`;
    if (typeof value !== 'number') return value;
    return Object.is(value, -0) ? '-0' : `number ${value}`;
  });
}

function mustBeRefusal(error: unknown): void {
  expect(String((error as Error).message)).toMatch(/constraint failed|datatype mismatch/);
}
