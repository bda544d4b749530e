// Kysely with its dialect for Durable Objects: schema, inserts, joins, aggregates, upserts.

import { DurableObject } from 'cloudflare:workers';
import { Kysely as Database, type Generated, sql } from 'kysely';
import { DODialect } from 'kysely-do';

interface Schema {
  person: { id: Generated<number>; name: string; age: number | null };
  pet: { id: Generated<number>; owner: number; name: string };
}

export class Kysely extends DurableObject {
  async run(): Promise<unknown> {
    const db = new Database<Schema>({ dialect: new DODialect({ ctx: this.ctx as never }) });
    await db.schema
      .createTable('person')
      .ifNotExists()
      .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
      .addColumn('name', 'text', (column) => column.notNull().unique())
      .addColumn('age', 'integer')
      .execute();
    await db.schema
      .createTable('pet')
      .ifNotExists()
      .addColumn('id', 'integer', (column) => column.primaryKey())
      .addColumn('owner', 'integer', (column) => column.references('person.id'))
      .addColumn('name', 'text')
      .execute();
    const inserted = await db
      .insertInto('person')
      .values([
        { name: 'Ada', age: 36 },
        { name: 'Zoë', age: null },
      ])
      .returningAll()
      .execute();
    await db
      .insertInto('pet')
      .values([
        { owner: inserted[0]!.id, name: 'Rex' },
        { owner: inserted[0]!.id, name: 'Kit' },
      ])
      .execute();
    const joined = await db
      .selectFrom('person')
      .leftJoin('pet', 'pet.owner', 'person.id')
      .select(['person.name', (eb) => eb.fn.count<number>('pet.id').as('pets')])
      .groupBy('person.id')
      .orderBy('person.name', 'desc')
      .execute();
    const upserted = await db
      .insertInto('person')
      .values({ name: 'Ada', age: 37 })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ age: 37 }))
      .returning(['name', 'age'])
      .executeTakeFirstOrThrow();
    const raw = await sql<{ total: number }>`SELECT sum(age) AS total FROM person`.execute(db);
    const failure = await db
      .insertInto('pet')
      .values({ owner: 99, name: 'Stray' })
      .execute()
      .then(() => 'none', String);
    const deleted = await db.deleteFrom('pet').where('name', '=', 'Kit').returning('id').execute();
    return { inserted, joined, upserted, raw: raw.rows, failure, deleted };
  }
}
