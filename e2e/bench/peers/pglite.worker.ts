// PGlite on its OPFS pool of access handles: Postgres, and durable.

import { PGlite } from '@electric-sql/pglite';
import { OpfsAhpFS } from '@electric-sql/pglite/opfs-ahp';
import { serveStore } from '../../../demo/bench/contender-worker.ts';
import { documents, ENTRY_COUNT, freshValue, key, ROW_COUNT } from '../../../demo/bench/data.ts';
import type { NewRow } from '../../../demo/bench/store.ts';

const TABLES = `
  CREATE TABLE IF NOT EXISTS kv(k TEXT PRIMARY KEY, v BYTEA);
  CREATE TABLE IF NOT EXISTS t(id SERIAL PRIMARY KEY, a TEXT, b FLOAT8, c INT);
  CREATE TABLE IF NOT EXISTS u(id SERIAL PRIMARY KEY, a TEXT, b FLOAT8, c INT);
  CREATE TABLE IF NOT EXISTS docs(id SERIAL PRIMARY KEY, body TEXT,
    words TSVECTOR GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED);
  CREATE INDEX IF NOT EXISTS docs_words ON docs USING gin(words);`;
const UPSERT = 'INSERT INTO kv VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = excluded.v';
const LIST = "SELECT k, v FROM kv WHERE k >= 'k' AND k < 'l' ORDER BY k";
const SEARCH = `SELECT id, body FROM docs WHERE words @@ to_tsquery('simple', $1)
  ORDER BY ts_rank(words, to_tsquery('simple', $1)) DESC LIMIT 20`;
const LAST = 'SELECT a FROM u ORDER BY id DESC LIMIT 1';

/** Rows of one statement: Postgres takes 65,535 parameters at most. */
const ROWS_MAX = 1000;

serveStore(async ({ name }) => {
  const pg = await PGlite.create({ fs: new OpfsAhpFS(name) });
  await pg.exec(TABLES);
  const first = async <T>(sql: string, ...values: unknown[]): Promise<T | undefined> =>
    (await pg.query<Record<string, T>>(sql, values)).rows.map((row) => Object.values(row)[0]!)[0];
  return {
    // The other fields of a query's result are not sent to the page.
    put: async (name, value) => void (await pg.query(UPSERT, [name, value])),
    get: (name) => first<Uint8Array>('SELECT v FROM kv WHERE k = $1', name),
    list: async () => (await pg.query(LIST)).rows.length,
    transaction: async (entries) => {
      await pg.transaction(async (tx) => {
        for (const entry of entries) await tx.query(UPSERT, [...entry]);
      });
    },
    insert: async (rows) => {
      await pg.transaction(async (tx) => {
        await tx.query('TRUNCATE u');
        for (let i = 0; i < rows.length; i += ROWS_MAX) {
          const [places, values] = placesOf(rows.slice(i, i + ROWS_MAX));
          await tx.query(`INSERT INTO u(a, b, c) VALUES ${places}`, values);
        }
      });
    },
    lastInserted: async () => (await first<string>(LAST))!,
    scan: async () => (await pg.query<{ a: string }>('SELECT id, a, b, c FROM t')).rows,
    select: async (id) => (await first<string>('SELECT a FROM t WHERE id = $1', id))!,
    search: async (word) => (await pg.query(SEARCH, [word])).rows,
    fill: async () => {
      await pg.transaction(async (tx) => {
        for (let i = 0; i < ENTRY_COUNT; i++) await tx.query(UPSERT, [key(i), freshValue()]);
      });
      if (Number(await first('SELECT count(*) FROM t')) > 0) return;
      const rows = `SELECT 'name of row ' || x, x * 1.5, x FROM generate_series(0, ${ROW_COUNT - 1}) x`;
      await pg.exec(`INSERT INTO t(a, b, c) ${rows}`);
      const texts = documents();
      for (let i = 0; i < texts.length; i += ROWS_MAX) {
        const some = texts.slice(i, i + ROWS_MAX);
        const places = some.map((_, j) => `($${j + 1})`).join(',');
        await pg.query(`INSERT INTO docs(body) VALUES ${places}`, some);
      }
    },
  };
});

function placesOf(rows: readonly NewRow[]): [places: string, values: unknown[]] {
  const places = rows.map((_, i) => `($${3 * i + 1},$${3 * i + 2},$${3 * i + 3})`).join(',');
  return [places, rows.flatMap(({ a, b, c }) => [a, b, c])];
}
