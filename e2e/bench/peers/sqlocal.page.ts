// Runs the measures on sqlocal, which has a worker of its own, on the official OPFS VFS.

import { SQLocal } from 'sqlocal';
import {
  documents,
  ENTRY_COUNT,
  freshValue,
  key,
  ROW_COUNT,
  row,
} from '../../../demo/bench/data.ts';
import { STATEMENTS, TABLES } from '../../../demo/bench/statements.ts';
import type { NewRow } from '../../../demo/bench/store.ts';
import { serveContender } from './contender-page.ts';

serveContender(
  async ({ name }) => {
    const db = new SQLocal({
      databasePath: `${name}.db`,
      processor: new Worker(new URL('./worker.js', location.href), { type: 'module' }),
    });
    for (const table of TABLES) await db.sql(table);
    const insert = (query: string, rows: readonly NewRow[]) =>
      db.batch((sql) => rows.map(({ a, b, c }) => sql(query, a, b, c)));
    return {
      page: {
        put: (key: string, value: Uint8Array) => db.sql(STATEMENTS.upsert, key, value),
        get: async (key: string) => (await db.sql<{ v: Uint8Array }>(STATEMENTS.get, key))[0]?.v,
        list: async () => (await db.sql(STATEMENTS.list)).length,
        transaction: (entries: readonly (readonly [string, Uint8Array])[]) =>
          db.batch((sql) => entries.map((entry) => sql(STATEMENTS.upsert, ...entry))),
        insert: async (rows: readonly NewRow[]) => {
          await db.batch((sql) => [
            sql(STATEMENTS.clear),
            ...rows.map(({ a, b, c }) => sql(STATEMENTS.insert, a, b, c)),
          ]);
        },
        lastInserted: async () => (await db.sql<{ a: string }>(STATEMENTS.lastInserted))[0]!.a,
        scan: () => db.sql<{ a: string }>(STATEMENTS.scan),
        select: async (id: number) => (await db.sql<{ a: string }>(STATEMENTS.select, id))[0]!.a,
        search: (word: string) => db.sql(STATEMENTS.search, word),
        fill: async () => {
          const keys = Array.from({ length: ENTRY_COUNT }, (_, i) => key(i));
          await db.batch((sql) => keys.map((key) => sql(STATEMENTS.upsert, key, freshValue())));
          await insert(
            STATEMENTS.fillRow,
            Array.from({ length: ROW_COUNT }, (_, i) => row(i)),
          );
          await db.batch((sql) => documents().map((body) => sql(STATEMENTS.fillDocument, body)));
        },
      },
    };
  },
  async (opened) => opened,
);
