// Uses workers-qb: a query builder over the SQL storage, with migrations.

import { DurableObject } from 'cloudflare:workers';
import { DOQB } from 'workers-qb';

const MIGRATIONS = [
  {
    name: 'first',
    sql: 'CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT UNIQUE, pay REAL);',
  },
  { name: 'second', sql: "ALTER TABLE staff ADD COLUMN role TEXT DEFAULT 'none';" },
];

export class Qb extends DurableObject {
  async run(): Promise<unknown> {
    const qb = new DOQB(this.ctx.storage.sql as never);
    const migrations = qb.migrations({ migrations: MIGRATIONS });
    const applied = migrations.apply().map(({ name }) => name);
    const again = migrations.apply().length;
    const inserted = qb
      .insert({
        tableName: 'staff',
        data: [
          { name: 'Ada', pay: 10.5 },
          { name: 'Zoë', pay: 7 },
        ],
        returning: '*',
      })
      .execute();
    const updated = qb
      .update({
        tableName: 'staff',
        data: { role: 'lead' },
        where: { conditions: 'name = ?1', params: ['Ada'] },
        returning: ['name', 'role'],
      })
      .execute();
    const all = qb.select('staff').where('pay > ?', 5).orderBy({ name: 'DESC' }).all();
    const count = qb.select('staff').count();
    const deleted = qb
      .delete({
        tableName: 'staff',
        where: { conditions: 'pay < ?1', params: [8] },
        returning: 'id',
      })
      .execute();
    let failure = 'none';
    try {
      qb.insert({ tableName: 'staff', data: { name: 'Ada' } }).execute();
    } catch (error) {
      failure = String(error);
    }
    return {
      applied,
      again,
      inserted: inserted.results,
      updated: updated.results,
      all: all.results,
      count: count.results,
      deleted: deleted.results,
      failure,
    };
  }
}
