// Runs the measures on wa-sqlite with one of its OPFS VFSs and prepared statements.

import * as SQLite from '@journeyapps/wa-sqlite';
import Factory from '@journeyapps/wa-sqlite/dist/wa-sqlite.mjs';
import { AccessHandlePoolVFS } from '@journeyapps/wa-sqlite/src/examples/AccessHandlePoolVFS.js';
import { OPFSCoopSyncVFS } from '@journeyapps/wa-sqlite/src/examples/OPFSCoopSyncVFS.js';
import { OPFSWriteAheadVFS } from '@journeyapps/wa-sqlite/src/examples/OPFSWriteAheadVFS.js';
import { serveStore } from '../../../demo/bench/contender-worker.ts';
import {
  type Driver,
  STATEMENTS,
  type StatementName,
  statementStore,
  TABLES,
  type Value,
} from '../../../demo/bench/statements.ts';
import type { Store } from '../../../demo/bench/store.ts';

const SYSTEMS: Readonly<Record<string, { create(...parameters: unknown[]): Promise<SQLiteVFS> }>> =
  {
    OPFSWriteAheadVFS,
    OPFSCoopSyncVFS,
    AccessHandlePoolVFS,
  };

serveStore(async ({ name, variant, journal }) => {
  const module = await Factory();
  const sqlite3 = SQLite.Factory(module);
  sqlite3.vfs_register(await SYSTEMS[variant!]!.create(name, module), true);
  const db = await sqlite3.open_v2(`${name}.db`);
  await sqlite3.exec(db, 'PRAGMA locking_mode = exclusive');
  if (journal !== undefined) await sqlite3.exec(db, `PRAGMA journal_mode = ${journal}`);
  await sqlite3.exec(db, 'PRAGMA synchronous = full');
  await sqlite3.exec(db, 'PRAGMA cache_size = -16384');
  // If the build has no FTS5, `search` is left out.
  const hasSearch = await hasOption(sqlite3, db, 'ENABLE_FTS5');
  for (const table of TABLES) {
    if (hasSearch || !table.includes('fts5')) await sqlite3.exec(db, table);
  }
  const { search, ...store } = statementStore(driverOf(sqlite3, db));
  return inTurn(hasSearch ? { ...store, search: search! } : store);
});

async function hasOption(sqlite3: SQLiteAPI, db: number, option: string): Promise<boolean> {
  let used = false;
  await sqlite3.exec(db, `SELECT sqlite_compileoption_used('${option}')`, ([value]) => {
    used = value === 1;
  });
  return used;
}

function driverOf(sqlite3: SQLiteAPI, db: number): Driver {
  const prepared = new Map<StatementName, number>();
  const bound = async (name: StatementName, values: readonly Value[] = []): Promise<number> => {
    let statement = prepared.get(name);
    if (statement === undefined) {
      statement = await prepare(sqlite3, db, STATEMENTS[name]);
      prepared.set(name, statement);
    }
    for (const [i, value] of values.entries()) {
      if (typeof value === 'string') sqlite3.bind_text(statement, i + 1, value);
      else if (typeof value !== 'number') sqlite3.bind_blob(statement, i + 1, value);
      else if (Number.isInteger(value)) sqlite3.bind_int(statement, i + 1, value);
      else sqlite3.bind_double(statement, i + 1, value);
    }
    return statement;
  };
  const each = async (statement: number, onRow: (row: Value[]) => void) => {
    while ((await sqlite3.step(statement)) === SQLite.SQLITE_ROW) {
      onRow(sqlite3.row(statement).map(copied) as Value[]);
    }
    await sqlite3.reset(statement);
  };
  return {
    run: async (name, values) => {
      const statement = await bound(name, values);
      try {
        await sqlite3.step(statement);
      } finally {
        await sqlite3.reset(statement); // also after a full disk, or it could not be used again
      }
    },
    one: async (name, values) => {
      const statement = await bound(name, values);
      const found = (await sqlite3.step(statement)) === SQLite.SQLITE_ROW;
      const value = found ? (copied(sqlite3.column(statement, 0)) as Value) : undefined;
      await sqlite3.reset(statement);
      return value;
    },
    all: async (name, values) => {
      const rows: Value[][] = [];
      await each(await bound(name, values), (row) => rows.push(row));
      return rows;
    },
    objects: async () => {
      const rows: { id: Value; a: string; b: Value; c: Value }[] = [];
      await each(await bound('scan'), ([id, a, b, c]) => {
        rows.push({ id: id!, a: a as string, b: b!, c: c! });
      });
      return rows;
    },
  };
}

async function prepare(sqlite3: SQLiteAPI, db: number, sql: string): Promise<number> {
  for await (const statement of sqlite3.statements(db, sql, { unscoped: true })) return statement;
  throw new Error(`no statement: ${sql}`);
}

// A blob is a view of SQLite's memory, which the next statement overwrites.
function copied(value: unknown): unknown {
  return value instanceof Uint8Array ? value.slice() : value;
}

// Queues the calls of one connection with asynchronous statements, because they must not interleave.
function inTurn(store: Store): Store {
  let last: Promise<unknown> = Promise.resolve();
  return Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      (...parameters: unknown[]) => {
        const result = last.then(() => method(...parameters));
        last = result.catch(() => {});
        return result;
      },
    ]),
  ) as unknown as Store;
}
