// A program that uses Drizzle on a handle, and the results that it must have, as plain data.

import { eq, sql } from 'drizzle-orm';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { drizzle, type MigrationFiles, migrate } from '../drizzle/index.ts';
import { author, book, schema } from './drizzle-tables.ts';

type CodedError = Error & { code?: string };

/** Returns the code of a rejection. Drizzle puts the storage's error into the `cause` of its own. */
export const codeOf = (operation: PromiseLike<unknown>): Promise<string> =>
  Promise.resolve(operation).then(
    () => 'none',
    (error: CodedError) =>
      error.code ?? (error.cause as CodedError | undefined)?.code ?? error.message,
  );

/** Waits for a turn of the event loop, in which messages arrive. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

export async function runOnHandle(storage: StorageHandle, files: MigrationFiles) {
  const db = drizzle(storage, { schema });
  const operation = [await migrate(db, files), await migrate(db, files)];
  const names = async () =>
    (await db.select({ name: author.name }).from(author).orderBy(author.id)).map(
      ({ name }) => name,
    );
  const add = (to: Pick<typeof db, 'insert'>, name: string) => to.insert(author).values({ name });

  const inserted = await db
    .insert(author)
    .values([{ name: 'Ursula', tags: ['a', 'b'] }, { name: 'Stanislaw' }])
    .returning();
  await db.insert(book).values([
    { author: 1, name: 'One' },
    { author: 1, name: 'Two' },
  ]);
  const joined = await db
    .select()
    .from(author)
    .innerJoin(book, eq(book.author, author.id))
    .where(eq(book.name, 'Two'));
  const found = await db.query.author.findFirst({ with: { books: true } });
  const missing = await db.select().from(author).where(eq(author.name, 'nobody')).get();
  const values = await db.values(sql`SELECT count(*) FROM ${book}`);
  const [, selected, first] = await db.batch([
    add(db, 'Iain'),
    db.select({ count: sql<number>`count(*)` }).from(author),
    db.query.author.findFirst({ columns: { name: true }, orderBy: author.id }),
  ]);

  let outside: PromiseLike<unknown> = Promise.resolve();
  let late: Pick<typeof db, 'insert'> | undefined;
  const codes = {
    failed: await codeOf(add(db, 'Ursula')),
    undone: await codeOf(
      db.transaction(async (tx) => {
        late = tx;
        await add(tx, 'undone');
        outside = add(db, 'outside').then();
        await turn();
        await add(tx, 'Ursula');
      }),
    ),
    late: await codeOf(add(late!, 'late')),
    rolledBack: await codeOf(
      db.transaction(async (tx) => {
        await add(tx, 'undone');
        tx.rollback();
      }),
    ),
    nested: await codeOf(
      db.transaction(async (tx) => {
        const inner = await codeOf(tx.transaction((each) => add(each, 'inner')));
        await add(tx, inner);
      }),
    ),
    batchUndone: await codeOf(db.batch([add(db, 'undone'), add(db, 'Ursula')])),
    forbidden: await codeOf(db.transaction((tx) => tx.run(sql`COMMIT`))),
    joining: await codeOf(storage.transaction(() => add(db, 'joined'))),
  };
  await outside;
  const counts = await Promise.all(
    ['one', 'two'].map((name) =>
      db.transaction(async (tx) => {
        await add(tx, name);
        await turn();
        return tx.$count(author);
      }),
    ),
  );
  const results = { operation, inserted, joined, found, missing: missing ?? null, values };
  return { ...results, selected, first, codes, counts, names: await names() };
}

/** The results of `runOnHandle`. */
export const DRIZZLE_RESULTS = {
  operation: [['0000_quick_hawk', '0001_slow_owl'], []],
  inserted: [
    { id: 1, name: 'Ursula', tags: ['a', 'b'] },
    { id: 2, name: 'Stanislaw', tags: null },
  ],
  joined: [
    {
      author: { id: 1, name: 'Ursula', tags: ['a', 'b'] },
      book: { id: 2, author: 1, name: 'Two' },
    },
  ],
  found: {
    id: 1,
    name: 'Ursula',
    tags: ['a', 'b'],
    books: [
      { id: 1, author: 1, name: 'One' },
      { id: 2, author: 1, name: 'Two' },
    ],
  },
  missing: null,
  values: [[2]],
  selected: [{ count: 3 }],
  first: { name: 'Ursula' },
  codes: {
    failed: 'SQL',
    undone: 'SQL',
    late: 'TRANSACTION_ENDED',
    rolledBack: 'Rollback',
    nested: 'none',
    batchUndone: 'SQL',
    forbidden: 'SQL_FORBIDDEN',
    joining: 'none',
  },
  counts: [7, 8],
  names: ['Ursula', 'Stanislaw', 'Iain', 'outside', 'TRANSACTION_NESTING', 'joined', 'one', 'two'],
};
