// The page of the benchmark: starts the workers and the package's own, and measures from outside.

import { openStorage } from '../../../src/index.ts';

declare global {
  interface Window {
    bench: {
      /** Asks a worker of the benchmark; the result is what it answered. */
      ask(worker: 'objects' | 'sahpool', request: unknown): Promise<unknown>;
      /** Milliseconds of `count` puts of 100 bytes made in one turn, through the package. */
      putsInFlight(count: number): Promise<number>;
      /** The same through the official VFS. */
      sahpoolPutsInFlight(count: number): Promise<number>;
      /** Milliseconds until the page has `count` rows as objects, through the package. */
      selectedRows(count: number): Promise<number>;
      /** The same through the official VFS. */
      sahpoolSelectedRows(count: number): Promise<number>;
    };
  }
}

const DROP = 'DROP TABLE IF EXISTS t';
const FILL =
  'CREATE TABLE t AS WITH RECURSIVE c(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM c LIMIT 10000) ' +
  "SELECT id, 'row' || id AS a, id * 1.5 AS b FROM c";
const SELECT = 'SELECT * FROM t LIMIT ';

const workers = {
  objects: new Worker(new URL('../worker/objects.worker.ts', import.meta.url), { type: 'module' }),
  sahpool: new Worker(new URL('../worker/sahpool.worker.ts', import.meta.url), { type: 'module' }),
};
let calls = 0;

window.bench = {
  ask: (name, request) =>
    new Promise((resolve, reject) => {
      const id = ++calls;
      const worker = workers[name];
      const onMessage = ({ data }: MessageEvent) => {
        if (data.id !== id) return;
        worker.removeEventListener('message', onMessage);
        if (data.error === undefined) resolve(data.result);
        else reject(new Error(data.error));
      };
      worker.addEventListener('message', onMessage);
      worker.postMessage({ id, request });
    }),
  async putsInFlight(count) {
    const storage = await openStorage('bench', { directory: 'bench-page' });
    await storage.put('warm', 0);
    const startMs = performance.now();
    await Promise.all(Array.from({ length: count }, (_, i) => storage.put(`k${i}`, bytes())));
    return performance.now() - startMs;
  },
  async sahpoolPutsInFlight(count) {
    const put = (i: number) =>
      window.bench.ask('sahpool', { op: 'put', key: `k${i}`, value: bytes() });
    await put(0);
    const startMs = performance.now();
    await Promise.all(Array.from({ length: count }, (_, i) => put(i)));
    return performance.now() - startMs;
  },
  async selectedRows(count) {
    const { sql } = await openStorage('bench', { directory: 'bench-page' });
    await sql.exec(DROP).ready;
    await sql.exec(FILL).ready;
    return timeRows(count, () => sql.exec(SELECT + count).toArray());
  },
  async sahpoolSelectedRows(count) {
    const query = (text: string) => window.bench.ask('sahpool', { op: 'query', sql: text });
    await query(DROP);
    await query(FILL);
    return timeRows(count, () => query(SELECT + count));
  },
};

async function timeRows(count: number, query: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  const rows = (await query()) as { readonly b: number }[];
  const elapsedMs = performance.now() - startMs;
  const { b } = rows[count - 1]!;
  if (rows.length !== count || b !== count * 1.5) throw new Error(`wrong rows, the last has ${b}`);
  return elapsedMs;
}

// Other bytes each time: writing what is stored already changes nothing.
function bytes(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(100));
}
