import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StorageHandle } from '../../src/shared/contract/storage.ts';
import { createObjects, DurableObject } from '../../worker/start/entries/node-objects.ts';
import { deleteQuery, rowsQuery, type Table, tablesOf, updateQuery, valuesOf } from './tables.ts';

class Box extends DurableObject {}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
let storage: StorageHandle;

beforeEach(async () => {
  objects = await createObjects({ Box });
  storage = await objects.storage(objects.env.Box.getByName('one'));
});
afterEach(() => objects.close());

/** Returns the keys of each row, in the order of the grid. */
async function keysIn(table: Table): Promise<unknown[][]> {
  const query = rowsQuery(table, { sort: null, filter: '' }, 0, 10);
  const rows = await storage.sql.exec(...query).toArray();
  return rows.map((row) => valuesOf(table, row).slice(table.columns.length));
}

test.each([
  ['with the largest integers', 'id INTEGER PRIMARY KEY, body', ''],
  ['of such a key without a rowid', 'id INT, body, PRIMARY KEY (id)', 'WITHOUT ROWID'],
  ['of a key without a type', 'id, body, PRIMARY KEY (id)', 'WITHOUT ROWID'],
  ['with a column called _rowid_', 'id, body, _rowid_ DEFAULT 7', ''],
])('[INSP3] a row is edited and deleted alone in a table %s', async (_, columns, options) => {
  const ids = /INT/.test(columns) ? ['9007199254740992', '9007199254740993'] : ['1', "'1'"];
  await storage.sql.exec(`CREATE TABLE item (${columns}) ${options}`).ready;
  for (const id of ids) {
    await storage.sql.exec(`INSERT INTO item(id, body) VALUES (${id}, 'old')`).ready;
  }
  const [table] = await tablesOf(storage);
  const [first, second] = await keysIn(table!);
  await storage.sql.exec(updateQuery(table!, 'body'), 'new', ...second!).ready;
  const bodies = storage.sql.exec('SELECT body FROM item ORDER BY id');
  expect(await bodies.toArray()).toEqual([{ body: 'old' }, { body: 'new' }]);
  await storage.sql.exec(deleteQuery(table!), ...first!).ready;
  expect(await storage.sql.exec('SELECT body FROM item').toArray()).toEqual([{ body: 'new' }]);
});

test('[INSP3] if columns take all names of the row number, rows have no key, and updates and deletes are refused', async () => {
  await storage.sql.exec(
    'CREATE TABLE item (_rowid_, rowid, OID); INSERT INTO item VALUES (1, 2, 3)',
  ).ready;
  const [table] = await tablesOf(storage);
  expect(table!.keys).toEqual([]);
  expect(await keysIn(table!)).toEqual([[]]);
  for (const query of [updateQuery(table!, 'OID'), deleteQuery(table!)]) {
    await expect(storage.sql.exec(query).ready).rejects.toMatchObject({ code: 'SQL' });
  }
  expect(await storage.sql.exec('SELECT * FROM item').raw().toArray()).toEqual([[1, 2, 3]]);
});
