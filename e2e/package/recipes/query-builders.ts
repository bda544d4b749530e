// Calls of apps with Drizzle and Kysely on a page, with the recipes of docs/query-builders.md.

import { drizzleOn } from 'recipe:drizzle.ts';
import { storageDialect } from 'recipe:kysely.ts';
import { eq, sql } from 'drizzle-orm';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { type Generated, Kysely } from 'kysely';
import type { RemoteStorage } from '../../../src/index.ts';

const author = sqliteTable('author', {
  id: integer('id').primaryKey(),
  name: text('name').notNull().unique(),
  tags: text('tags', { mode: 'json' }).$type<string[]>(),
});

interface Schema {
  person: { id: Generated<number>; name: string; age: number | null };
}

type CodedError = Error & { code?: string };

/** The code of a promise's rejection; SQLite's codes are found behind the library's own error. */
const codeOf = (made: PromiseLike<unknown>) =>
  made.then(
    () => 'none',
    (error: CodedError) =>
      error.code ?? (error.cause as CodedError | undefined)?.code ?? error.message,
  );

/** Longer than a message takes. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 50));

const builders = {
  async drizzle(storage: RemoteStorage) {
    const db = drizzleOn(storage);
    const names = async () =>
      (await db.select({ name: author.name }).from(author).orderBy(author.id)).map(
        ({ name }) => name,
      );
    await db.run(
      sql`CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, tags TEXT)`,
    );
    const inserted = await db
      .insert(author)
      .values([{ name: 'Ursula', tags: ['a', 'b'] }, { name: 'Stanislaw' }])
      .returning();
    await db.update(author).set({ tags: [] }).where(eq(author.name, 'Stanislaw'));
    const found = await db.select().from(author).where(eq(author.name, 'Stanislaw')).get();
    const missing = await db.select().from(author).where(eq(author.name, 'nobody')).get();
    const failed = await codeOf(db.insert(author).values({ name: 'Ursula' }));

    const refused = await codeOf(
      db.transaction((tx) => tx.insert(author).values({ name: 'begun' })),
    );
    const undone = await codeOf(
      storage.transaction(async () => {
        await db.insert(author).values({ name: 'undone' });
        await db.insert(author).values({ name: 'Ursula' });
      }),
    );
    await storage.transaction(async () => {
      await db.insert(author).values({ name: 'Octavia' });
      await db.delete(author).where(eq(author.name, 'Stanislaw'));
    });
    const batchUndone = await codeOf(
      db.batch([
        db.insert(author).values({ name: 'undone' }),
        db.insert(author).values({ name: 'Ursula' }),
      ]),
    );
    const [, selected] = await db.batch([
      db.insert(author).values({ name: 'Iain' }),
      db.select({ count: sql<number>`count(*)` }).from(author),
    ]);
    const codes = { failed, refused, undone, batchUndone };
    return { inserted, found, missing: missing ?? null, codes, selected, names: await names() };
  },

  async kysely(storage: RemoteStorage) {
    const db = new Kysely<Schema>({ dialect: storageDialect(storage) });
    await db.schema
      .createTable('person')
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull().unique())
      .addColumn('age', 'integer')
      .execute();
    const add = (to: Pick<typeof db, 'insertInto'>, name: string) =>
      to.insertInto('person').values({ name, age: null }).executeTakeFirst();
    const { insertId } = await add(db, 'Ada');
    await add(db, 'Zoë');
    const returned = await db
      .updateTable('person')
      .set({ age: 36 })
      .where('name', '=', 'Ada')
      .returning(['name', 'age'])
      .execute();
    const updated = await db.updateTable('person').set({ age: 40 }).executeTakeFirst();
    const tables = (await db.introspection.getTables()).map(({ name }) => name);
    const streamed: string[] = [];
    for await (const { name } of db.selectFrom('person').select('name').orderBy('id').stream()) {
      streamed.push(name);
    }

    let outside: Promise<unknown> = Promise.resolve();
    const undone = await codeOf(
      db.transaction().execute(async (trx) => {
        await add(trx, 'undone');
        outside = add(db, 'outside');
        await pause();
        await add(trx, 'Ada');
      }),
    );
    await outside;
    const early = await codeOf(
      db.transaction().execute(() => Promise.reject(new Error('before any query'))),
    );
    await Promise.all(
      ['one', 'two'].map((name) =>
        db.transaction().execute(async (trx) => {
          await add(trx, name);
          await pause();
          await trx.deleteFrom('person').where('name', '=', 'Zoë').execute();
        }),
      ),
    );
    const names = (await db.selectFrom('person').select('name').orderBy('id').execute()).map(
      ({ name }) => name,
    );
    await db.destroy();
    const counts = [Number(insertId), Number(updated.numUpdatedRows)];
    return { counts, returned, tables, streamed, codes: { undone, early }, names };
  },
};

declare global {
  interface Window {
    builders: typeof builders;
  }
}

window.builders = builders;
