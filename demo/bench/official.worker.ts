// Measures the official SQLite build on its OPFS pool of access handles, with prepared statements.

import sqlite3InitModule, { type PreparedStatement } from '@sqlite.org/sqlite-wasm';
import { serveStore } from './contender-worker.ts';
import {
  type Driver,
  STATEMENTS,
  type StatementName,
  statementStore,
  TABLES,
  type Value,
} from './statements.ts';

// The other VFSs of the build are disabled, because they would start workers of their own.
Object.assign(globalThis, {
  sqlite3ApiConfig: { disable: { vfs: { opfs: true, 'opfs-wl': true, kvvfs: true } } },
});

serveStore(async ({ name, journal = 'delete' }) => {
  const sqlite3 = await sqlite3InitModule();
  const pool = await sqlite3.installOpfsSAHPoolVfs({ name, directory: name });
  const db = new pool.OpfsSAHPoolDb('/bench.db');
  db.exec('PRAGMA locking_mode = exclusive');
  db.exec(`PRAGMA journal_mode = ${journal}`);
  db.exec('PRAGMA synchronous = full');
  const mode = db.selectValue('PRAGMA journal_mode');
  if (mode !== journal) throw new Error(`the journal is ${mode} instead of ${journal}`);
  for (const table of TABLES) db.exec(table);
  const prepared = new Map<StatementName, PreparedStatement>();
  const bound = (name: StatementName, values?: readonly Value[]) => {
    let statement = prepared.get(name);
    if (statement === undefined) prepared.set(name, (statement = db.prepare(STATEMENTS[name])));
    if (values !== undefined) statement.bind(values as Value[]);
    return statement;
  };
  const driver: Driver = {
    run: (name, values) => {
      const statement = bound(name, values);
      try {
        statement.step();
      } finally {
        statement.reset(); // Reset the statement even if the disk is full, so that it can be used again.
      }
    },
    one: (name, values) => {
      const statement = bound(name, values);
      const value = statement.step() ? (statement.get(0) as Value) : undefined;
      statement.reset();
      return value;
    },
    all: (name, values) => {
      const statement = bound(name, values);
      const rows: Value[][] = [];
      while (statement.step()) rows.push(statement.get([]) as Value[]);
      statement.reset();
      return rows;
    },
    objects: () => {
      const statement = bound('scan');
      const rows: { id: number; a: string; b: number; c: number }[] = [];
      while (statement.step()) {
        rows.push({
          id: statement.getInt(0)!,
          a: statement.getString(1)!,
          b: statement.getFloat(2)!,
          c: statement.getInt(3)!,
        });
      }
      statement.reset();
      return rows;
    },
  };
  return statementStore(driver);
});
