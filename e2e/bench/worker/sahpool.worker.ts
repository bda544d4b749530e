// The official VFS for comparison: SQLite on opfs-sahpool, one committed upsert or one query a message.

import sqlite3InitModule, { type OpfsSAHPoolDatabase } from '@sqlite.org/sqlite-wasm';

type Request =
  | { readonly op: 'put'; readonly key: string; readonly value: Uint8Array }
  | { readonly op: 'query'; readonly sql: string };

const UPSERT = 'INSERT INTO kv VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v';

const database = (async () => {
  const sqlite3 = await sqlite3InitModule();
  const pool = await sqlite3.installOpfsSAHPoolVfs({
    name: 'bench-sahpool',
    directory: 'bench-sahpool',
  });
  const db = new pool.OpfsSAHPoolDb('/bench.db');
  db.exec('CREATE TABLE IF NOT EXISTS kv(k TEXT PRIMARY KEY, v BLOB) WITHOUT ROWID');
  return db;
})();

self.addEventListener('message', async ({ data: { id, request } }: MessageEvent) => {
  try {
    const db = await database;
    self.postMessage({ id, result: answer(db, request) });
  } catch (error) {
    self.postMessage({ id, error: String(error) });
  }
});

function answer(db: OpfsSAHPoolDatabase, request: Request): unknown {
  switch (request.op) {
    case 'put':
      db.exec({ sql: UPSERT, bind: [request.key, request.value] });
      return null;
    case 'query':
      return db.exec({ sql: request.sql, rowMode: 'object', returnValue: 'resultRows' });
  }
}
