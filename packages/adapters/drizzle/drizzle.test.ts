/// <reference types="vite/types/importMeta.d.ts" />
// Drizzle on a handle and in a class, in this process. e2e/specs/libraries.spec.ts tests it in a browser and on
// workerd, and e2e/specs/recipes.spec.ts in pages.

import { drizzle as drizzleInClass } from 'drizzle-orm/durable-sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { DRIZZLE_RESULTS, runOnHandle } from '../testing/drizzle-program.ts';
import { author, schema } from '../testing/drizzle-tables.ts';
import { drizzle, migrate } from './index.ts';

const FILES: Record<string, string> = import.meta.glob('../testing/drizzle/**/*.{json,sql}', {
  query: '?raw',
  import: 'default',
  eager: true,
});

class Library extends DurableObject {
  async run() {
    const db = drizzleInClass(this.ctx.storage as never, { schema });
    const client = { $client: this.ctx.storage };
    const made = [await migrate(client, FILES), await migrate(db as never, FILES)];
    db.transaction((tx) => {
      tx.insert(author)
        .values({ name: 'Ursula', tags: ['a'] })
        .run();
    });
    return { made, found: db.query.author.findMany({ with: { books: true } }).sync() };
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ Library: typeof Library }>>>;
beforeAll(async () => {
  objects = await createObjects({ Library });
});
afterAll(() => objects.close());

const handleOf = (name: string) => objects.storage(objects.env.Library.getByName(name));

test('[DRIZZLE1] [DRIZZLE2] [DRIZZLE3] queries, transactions and migrations on a handle', async () => {
  expect(await runOnHandle(await handleOf('handle'), FILES)).toEqual(DRIZZLE_RESULTS);
});

test('[DRIZZLE3] in a class, migrations are those of the folder, and `durable-sqlite` uses their tables', async () => {
  expect(await objects.env.Library.getByName('class').run()).toEqual({
    made: [['0000_quick_hawk', '0001_slow_owl'], []],
    found: [{ id: 1, name: 'Ursula', tags: ['a'], books: [] }],
  });
});

/** Makes the files of a migration folder of drizzle-kit, with these texts by their names. */
function folderOf(texts: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.keys(texts).map((tag, idx) => ({ idx, tag }));
  const files = Object.entries(texts).map(([tag, text]) => [`/out/${tag}.sql`, text] as const);
  return { ...Object.fromEntries(files), '/out/meta/_journal.json': JSON.stringify({ entries }) };
}

test('[DRIZZLE3] the journal decides the order, and a folder whose files are missing is refused', async () => {
  const db = drizzle(await handleOf('journal'));
  const texts = { '0001_b': 'CREATE TABLE one(x)', '0000_a': 'ALTER TABLE one RENAME TO two' };
  // The files are in the order of their names, as import.meta.glob gives them.
  const files = Object.fromEntries(Object.entries(folderOf(texts)).toSorted());
  expect(await migrate(db, files)).toEqual(['0001_b', '0000_a']);
  const refused = (files: Record<string, string>) =>
    migrate(db, files).catch((error) => [error.code, error.message]);
  expect(await refused({})).toEqual([
    'INVALID_ARGUMENT',
    'migrate: the files have neither meta/_journal.json nor folders with a migration.sql.',
  ]);
  expect(await refused({ 'a/meta/_journal.json': '{}' })).toEqual([
    'INVALID_ARGUMENT',
    'migrate: a/meta/_journal.json is not a journal of drizzle-kit.',
  ]);
  const { '/out/0000_a.sql': _, ...without } = folderOf(texts);
  expect(await refused(without)).toEqual([
    'INVALID_ARGUMENT',
    'migrate: /out/0000_a.sql is missing, which the journal names.',
  ]);
});

test('[DRIZZLE5] without a journal, each folder of drizzle-kit 1 is a migration, by its name', async () => {
  const db = drizzle(await handleOf('folders'));
  const first = { 'drizzle/20260101000000_one/migration.sql': 'CREATE TABLE one(x)' };
  const files = {
    './drizzle/20260102000000_two/migration.sql':
      'ALTER TABLE one RENAME TO two;--> statement-breakpoint\nINSERT INTO two VALUES (1)',
    './drizzle/20260102000000_two/snapshot.json': '{}',
    // Drizzle does not read folders inside of a migration's folder.
    './drizzle/20260102000000_two/old/migration.sql': 'no statement',
    ...Object.fromEntries(Object.entries(first).map(([path, text]) => [`./${path}`, text])),
  };
  expect(await migrate(db, first)).toEqual(['20260101000000_one']);
  expect(await migrate(db, files)).toEqual(['20260102000000_two']);
  expect(await migrate(db, files)).toEqual([]);
  expect(await db.$client.sql.exec('SELECT x FROM two').toArray()).toEqual([{ x: 1 }]);
  const refused = (others: Record<string, string>) =>
    migrate(db, { ...files, ...others }).catch((error) => [error.code, error.message]);
  expect(await refused({ './drizzle/meta/_journal.json': '{"entries":[]}' })).toEqual([
    'INVALID_ARGUMENT',
    'migrate: the files have ./drizzle/meta/_journal.json, and folders of drizzle-kit 1; run drizzle-kit up.',
  ]);
  expect(await refused({ './other/1_a/migration.sql': '' })).toEqual([
    'INVALID_ARGUMENT',
    'migrate: ./other/ and ./drizzle/ both have migrations; give the files of one folder.',
  ]);
});

const recreateTable = (table: string) => `PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE \`__new_${table}\` (\`id\` integer PRIMARY KEY, \`more\` text);--> statement-breakpoint
INSERT INTO \`__new_${table}\`("id") SELECT "id" FROM \`${table}\`;--> statement-breakpoint
DROP TABLE \`${table}\`;--> statement-breakpoint
ALTER TABLE \`__new_${table}\` RENAME TO \`${table}\`;--> statement-breakpoint
PRAGMA foreign_keys=ON;`;

test.each(['CASCADE', 'SET NULL', 'NO ACTION'])(
  '[DRIZZLE4] a table that is made again keeps the rows that refer to it by ON DELETE %s, or the migration is refused',
  async (action) => {
    const storage = await handleOf(action);
    const db = drizzle(storage);
    const first = `CREATE TABLE parent(id integer PRIMARY KEY); CREATE TABLE alone(id integer PRIMARY KEY);
      CREATE TABLE child(id integer PRIMARY KEY, of integer REFERENCES parent(id) ON DELETE ${action})`;
    const folder = folderOf({
      first,
      alone: recreateTable('alone'),
      parent: recreateTable('parent'),
    });
    await migrate(db, folderOf({ first }));
    await storage.batch([['INSERT INTO parent VALUES (1)'], ['INSERT INTO alone VALUES (2)']]);
    await storage.sql.exec('INSERT INTO child VALUES (3, 1)').ready;
    await expect(migrate(db, folder)).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: expect.stringContaining(
        action === 'NO ACTION' ? 'FOREIGN KEY constraint failed' : 'to which rows of "child" refer',
      ),
    });
    expect(await storage.sql.exec('SELECT * FROM child').toArray()).toEqual([{ id: 3, of: 1 }]);
    expect(await storage.sql.exec('SELECT * FROM alone').toArray()).toEqual([
      { id: 2, more: null },
    ]);
    await storage.sql.exec('DELETE FROM child').ready;
    expect(await migrate(db, folder)).toEqual(['parent']);
    expect(await storage.sql.exec('SELECT * FROM parent').toArray()).toEqual([
      { id: 1, more: null },
    ]);
  },
);
