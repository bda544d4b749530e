// The official VFS for comparison: SQLite on opfs-sahpool, one committed upsert a message.

import sqlite3InitModule from '@sqlite.org/sqlite-wasm';

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
    if (request.op === 'put') {
      db.exec({ sql: UPSERT, bind: [request.key, request.value] });
    }
    self.postMessage({ id, result: null });
  } catch (error) {
    self.postMessage({ id, error: String(error) });
  }
});
