// Kysely on a handle and in a class, in this process. e2e/specs/libraries.spec.ts runs the same program in a browser
// and on workerd, and e2e/specs/recipes.spec.ts in pages.

import { Kysely, sql } from 'kysely';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { IN_CLASS, ON_HANDLE, runAll } from '../testing/kysely-program.ts';
import { type QueryableStorage, storageDialect } from './dialect.ts';

interface Schema {
  note: { id: number; body: string };
}

class People extends DurableObject {
  run(): Promise<object> {
    return runAll(this.ctx.storage);
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ People: typeof People }>>>;
beforeAll(async () => {
  objects = await createObjects({ People });
});
afterAll(() => objects.close());

async function handleOf(name: string) {
  const storage = await objects.storage(objects.env.People.getByName(name));
  await storage.sql.exec('CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT UNIQUE)').ready;
  return { storage, db: new Kysely<Schema>({ dialect: storageDialect(storage) }) };
}

test('[KYSELY1] [KYSELY2] [KYSELY3] statements, transactions and savepoints in a class', async () => {
  expect(await objects.env.People.getByName('class').run()).toEqual(IN_CLASS);
});

test('[KYSELY1] [KYSELY2] [KYSELY3] statements and transactions on a handle, which refuses savepoints', async () => {
  const storage = await objects.storage(objects.env.People.getByName('handle'));
  expect(await runAll(storage)).toEqual(ON_HANDLE);
});

test('[KYSELY1] errors keep their codes', async () => {
  const { db } = await handleOf('codes');
  const add = () => db.insertInto('note').values({ id: 1, body: 'a' }).execute();
  await add();
  await expect(add()).rejects.toMatchObject({
    code: 'SQL',
    message: expect.stringMatching(/^UNIQUE constraint failed/),
  });
  const forbidden = sql`BEGIN`.execute(db);
  await expect(forbidden).rejects.toMatchObject({ code: 'SQL_FORBIDDEN' });
  const trx = await db.startTransaction().execute();
  await expect(trx.savepoint('inner').execute()).rejects.toMatchObject({
    code: 'TRANSACTION_NESTING',
  });
  await trx.rollback().execute();
});

test('[KYSELY1] introspection shows the program’s tables beside keys and an alarm, which have tables of their own', async () => {
  const { storage, db } = await handleOf('introspected');
  await storage.put('key', 1);
  await storage.sql.exec('CREATE VIEW bodies AS SELECT body FROM note').ready;
  await storage.sql.exec('CREATE TABLE xcfy_own(a)').ready;
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  expect(tables.map(({ name, isView, columns }) => [name, isView, columns.length])).toEqual([
    ['bodies', true, 1],
    ['note', false, 2],
    ['xcfy_own', false, 1],
  ]);
});

test('[KYSELY1] breaking out of a stream frees its cursor', async () => {
  const { storage, db } = await handleOf('left');
  const rows = Array.from({ length: 300 }, (_, id) => [id, `${id}`]);
  await storage.sql.execMany('INSERT INTO note VALUES (?, ?)', rows);
  const exec = vi.spyOn(storage.sql, 'exec');
  for await (const _ of db.selectFrom('note').selectAll().stream()) break;
  const cursor = exec.mock.results[0]!.value as ReturnType<typeof storage.sql.exec>;
  expect(await cursor.next()).toEqual({ done: true, value: undefined });
});

test('[KYSELY2] a transaction whose handle is closed is rolled back, and its commit is CONNECTION_CLOSED', async () => {
  const { storage, db } = await handleOf('closed');
  const trx = await db.startTransaction().execute();
  await trx.insertInto('note').values({ id: 1, body: 'undone' }).execute();
  await storage.close();
  await expect(trx.commit().execute()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await trx.rollback().execute();
  const other = await objects.storage(objects.env.People.getByName('closed'));
  expect(await other.sql.exec('SELECT * FROM note').toArray()).toEqual([]);
});

/** Makes a storage whose transactions end with an error when the test calls `end`, as one that takes too long. */
function endingStorage() {
  let end!: (error: Error) => void;
  const ended = new Promise<never>((_, reject) => {
    end = reject;
  });
  const events: string[] = [];
  const storage: QueryableStorage = {
    sql: {
      exec(query) {
        events.push(query);
        return Object.assign([], { toArray: () => [] });
      },
    },
    transaction: (closure) => {
      const closed = closure({ rollback: () => events.push('rollback') });
      closed.then(() => events.push('closure returned'));
      return Promise.race([closed, ended]);
    },
  };
  const db = new Kysely<Schema>({ dialect: storageDialect(storage) });
  return { db, events, end };
}

test('[KYSELY2] waiting queries run once the storage ends an idle transaction, whose later queries fail', async () => {
  const { db, events, end } = endingStorage();
  const trx = await db.startTransaction().execute();
  const waiting = sql`SELECT 1`.execute(db);
  end(new Error('30 s'));
  await waiting;
  expect(events).toEqual(['closure returned', 'SELECT 1']);
  await expect(sql`SELECT 2`.execute(trx)).rejects.toThrow('30 s');
  await expect(trx.commit().execute()).rejects.toThrow('30 s');
  await trx.rollback().execute();
  await sql`SELECT 3`.execute(db);
  expect(events.slice(2)).toEqual(['SELECT 3']);
});

test('[KYSELY2] a transaction whose closure waits for a query of the same Kysely fails at its limit; the query then runs', async () => {
  const { db, events, end } = endingStorage();
  const transaction = db.transaction().execute(() => sql`SELECT 1`.execute(db));
  const refused = expect(transaction).rejects.toThrow('30 s');
  end(new Error('30 s'));
  await refused;
  expect(events).toEqual(['closure returned', 'SELECT 1']);
});
