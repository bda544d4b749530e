// A program that uses Kysely on the storage of a page or class, here and on workerd, and the results that it must have.

import { type Generated, Kysely, sql } from 'kysely';
import { type QueryableStorage, storageDialect } from '../kysely/dialect.ts';

interface Schema {
  person: { id: Generated<number>; name: string; age: number | null };
}

type Db = Kysely<Schema>;

/** Returns the message of a rejection. Error codes are not compared, because workerd has none. */
const failureOf = (operation: PromiseLike<unknown>): Promise<string> =>
  Promise.resolve(operation).then(
    () => 'none',
    (error: Error) => error.message,
  );

/** Waits for a turn of the event loop. */
const turn = () => new Promise((resolve) => setTimeout(resolve, 0));

const add = (to: Pick<Db, 'insertInto'>, name: string) =>
  to.insertInto('person').values({ name, age: null }).executeTakeFirst();

const namesOf = async (db: Pick<Db, 'selectFrom'>) =>
  (await db.selectFrom('person').select('name').orderBy('id').execute()).map(({ name }) => name);

/** Runs the whole program on an object without tables. */
export async function runAll(storage: QueryableStorage) {
  const db: Db = new Kysely({ dialect: storageDialect(storage) });
  const found = {
    ...(await statements(db)),
    ...(await transactions(db)),
    ...(await savepoints(db)),
  };
  await db.destroy();
  return found;
}

async function statements(db: Db) {
  await db.schema
    .createTable('person')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('age', 'integer')
    .execute();
  const counts = [
    await add(db, 'Ada'),
    await db
      .insertInto('person')
      .values([
        { name: 'Zoë', age: 1 },
        { name: 'Bo', age: 2 },
      ])
      .executeTakeFirst(),
    await db
      .insertInto('person')
      .values({ name: 'Bo', age: 3 })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst(),
    await db.updateTable('person').set({ age: 40 }).executeTakeFirst(),
    await db.deleteFrom('person').where('name', '=', 'nobody').executeTakeFirst(),
    await sql`INSERT INTO person(id, name) VALUES (9007199254740993, 'large')`.execute(db),
    await sql`DELETE FROM person WHERE id > 3`.execute(db),
    await sql`SELECT 1 AS one`.execute(db),
  ].map(textOfCounts);
  const returned = await db
    .updateTable('person')
    .set({ age: 36 })
    .where('name', '=', 'Ada')
    .returning(['name', 'age'])
    .execute();
  const streamed: string[] = [];
  for await (const { name } of db.selectFrom('person').select('name').orderBy('id').stream()) {
    streamed.push(name);
    if (name === 'Zoë') break;
  }
  const [table] = await db.introspection.getTables();
  const columns = table!.columns.map(({ name, dataType, isNullable, isAutoIncrementing }) =>
    [name, dataType, isNullable ? 'null' : '', isAutoIncrementing ? 'auto' : ''].join(' ').trim(),
  );
  const failures = [
    await failureOf(add(db, 'Ada')),
    await failureOf(sql`SELECT * FROM nowhere`.execute(db)),
  ];
  return { counts, returned, streamed, table: table!.name, columns, failures };
}

async function transactions(db: Db) {
  let outside: Promise<unknown> = Promise.resolve();
  let inside: string[] = [];
  const undone = await failureOf(
    db.transaction().execute(async (trx) => {
      await add(trx, 'undone');
      outside = add(db, 'outside');
      await turn();
      inside = await namesOf(trx);
      await add(trx, 'Ada');
    }),
  );
  await outside;
  const early = await failureOf(
    db.transaction().execute(() => Promise.reject(new Error('before any query'))),
  );
  await Promise.all(
    ['one', 'two'].map((name) =>
      db.transaction().execute(async (trx) => {
        await add(trx, name);
        await turn();
        await trx.deleteFrom('person').where('name', '=', 'Zoë').execute();
      }),
    ),
  );
  const trx = await db.startTransaction().execute();
  await add(trx, 'controlled');
  await trx.rollback().execute();
  return { undone, early, inside, names: await namesOf(db) };
}

async function savepoints(db: Db) {
  await db.deleteFrom('person').execute();
  const trx = await db.startTransaction().execute();
  try {
    await add(trx, 'first');
    const outer = await trx.savepoint('outer').execute();
    await add(outer, 'kept');
    const inner = await outer.savepoint('inner').execute();
    await add(inner, 'undone');
    await turn();
    await inner.rollbackToSavepoint('inner').execute();
    await add(inner, 'again');
    await inner.rollbackToSavepoint('inner').execute();
    await add(inner, 'inside');
    await inner.releaseSavepoint('inner').execute();
    const gone = await failureOf(inner.rollbackToSavepoint('inner' as never).execute());
    await trx.commit().execute();
    const nested = await namesOf(db);
    return { gone, nested, afterRollback: await rolledBack(db) };
  } catch (error) {
    await trx.commit().execute();
    return { refused: (error as Error).message, kept: await namesOf(db) };
  }
}

/** Rolls back a whole transaction while savepoints are open. */
async function rolledBack(db: Db) {
  const trx = await db.startTransaction().execute();
  const outer = await trx.savepoint('outer').execute();
  await add(outer, 'undone');
  await add(await outer.savepoint('inner').execute(), 'undone too');
  await trx.rollback().execute();
  return namesOf(db);
}

function textOfCounts(result: object): string {
  return Object.entries(result)
    .filter(([, value]) => typeof value === 'bigint')
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

const ADA_EXISTS =
  'UNIQUE constraint failed: person.name: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)';

const EVERYWHERE = {
  counts: [
    'insertId 1, numInsertedOrUpdatedRows 1',
    'insertId 3, numInsertedOrUpdatedRows 2',
    'numInsertedOrUpdatedRows 0',
    'numUpdatedRows 3',
    'numDeletedRows 0',
    'numAffectedRows 1, insertId 9007199254740993',
    'numAffectedRows 1',
    '',
  ],
  returned: [{ name: 'Ada', age: 36 }],
  streamed: ['Ada', 'Zoë'],
  table: 'person',
  columns: ['id INTEGER null auto', 'name TEXT', 'age INTEGER null'],
  failures: [ADA_EXISTS, 'no such table: nowhere: SQLITE_ERROR'],
  undone: ADA_EXISTS,
  early: 'before any query',
  inside: ['Ada', 'Zoë', 'Bo', 'undone'],
  names: ['Ada', 'Bo', 'outside', 'one', 'two'],
};

/** The results of `runAll` in a class. */
export const IN_CLASS = {
  ...EVERYWHERE,
  gone: 'There is no savepoint "inner" any more.',
  nested: ['first', 'kept', 'inside'],
  afterRollback: ['first', 'kept', 'inside'],
};

/** The results of `runAll` on a handle, which has no savepoints. */
export const ON_HANDLE = {
  ...EVERYWHERE,
  refused:
    'savepoint: "outer" cannot be set, because a handle has no transactions in transactions. Use the dialect with ' +
    '`ctx.storage`, in a class.',
  kept: ['first'],
};
