// The work of a simulated object: transactions drawn from a seed, made in SQLite and in the model.

import type { Database } from '@sqlite.org/sqlite-wasm';
import { CREATE_ENTRIES, EMPTY, ENTRIES_TABLE, type Model } from './model.ts';
import type { Random } from './random.ts';

const UPSERT = `INSERT INTO ${ENTRIES_TABLE} VALUES(?,?) ON CONFLICT DO UPDATE SET v = excluded.v`;

/** One step of work: what to run, and what the database must hold after it, if it commits. */
export interface Step {
  readonly after: Model;
  run(db: Database): void;
}

/** Draws the next step. */
export function nextStep(model: Model, random: Random): Step {
  if (!model.tables.has(ENTRIES_TABLE)) return createEntries(model);
  if (random.onceIn(60)) return { after: model, run: (db) => void db.exec('VACUUM') };
  if (random.onceIn(80)) return dropEverything(model);
  return transaction(model, random);
}

function createEntries(model: Model): Step {
  return {
    after: { entries: new Map(), tables: new Set([...model.tables, ENTRIES_TABLE]) },
    run: (db) => void db.exec(CREATE_ENTRIES),
  };
}

function dropEverything(model: Model): Step {
  return {
    after: EMPTY,
    run(db) {
      db.exec('BEGIN');
      for (const table of model.tables) db.exec(`DROP TABLE ${table}`);
      db.exec('COMMIT');
      // Gives the pages back, so that the file becomes shorter.
      db.exec('VACUUM');
    },
  };
}

function transaction(model: Model, random: Random): Step {
  const entries = new Map(model.entries);
  const tables = new Set(model.tables);
  const work: ((db: Database) => void)[] = [];
  const count = random.pick([1, 1, 1, 1, 4, 40, 200]);
  for (let i = 0; i < count; i++) work.push(change(entries, random));
  if (random.onceIn(25)) {
    const table = `t${random.below(5)}`;
    if (tables.delete(table)) work.push((db) => void db.exec(`DROP TABLE ${table}`));
    else {
      tables.add(table);
      work.push((db) => void db.exec(`CREATE TABLE ${table}(a, b)`));
    }
  }
  const isRolledBack = random.onceIn(8);
  return {
    after: isRolledBack ? model : { entries, tables },
    run(db) {
      db.exec('BEGIN');
      for (const one of work) one(db);
      db.exec(isRolledBack ? 'ROLLBACK' : 'COMMIT');
    },
  };
}

function change(entries: Map<string, string>, random: Random): (db: Database) => void {
  const key = `k${random.below(300)}`;
  const kind = random.below(10);
  if (kind < 7) {
    const value = randomValue(random);
    entries.set(key, value);
    return (db) => void db.exec({ sql: UPSERT, bind: [key, value] });
  }
  if (kind < 9) {
    entries.delete(key);
    return (db) => void db.exec({ sql: `DELETE FROM ${ENTRIES_TABLE} WHERE k = ?`, bind: [key] });
  }
  const lost = randomValue(random);
  return (db) => {
    db.exec('SAVEPOINT s');
    db.exec({ sql: UPSERT, bind: [key, lost] });
    db.exec('ROLLBACK TO s; RELEASE s');
  };
}

function randomValue(random: Random): string {
  const most = random.onceIn(20) ? 12_000 : 250;
  return String.fromCharCode(97 + random.below(26)).repeat(1 + random.below(most));
}
