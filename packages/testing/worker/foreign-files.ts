// SQLite files for tests, created by SQLite in memory: sound ones, unusual ones, hostile ones whose schema
// was written by hand, and WALs for them.

import { startOfficial } from './official-sqlite.ts';

const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const PAGE_BYTES = 4096;

let official: ReturnType<typeof startOfficial> | undefined;

/** Returns the SQLite build that all files share, because each build takes 8 MiB of memory. */
function sharedOfficial(): ReturnType<typeof startOfficial> {
  official ??= startOfficial();
  return official;
}

/** The file that the statements create. */
export async function makeFile(sql: string): Promise<Uint8Array> {
  const { sqlite3 } = await sharedOfficial();
  const database = new sqlite3.oo1.DB(':memory:');
  try {
    database.exec(`PRAGMA page_size=${PAGE_BYTES};${sql}`);
    return sqlite3.capi.sqlite3_js_db_export(database.pointer!);
  } finally {
    database.close();
  }
}

/** The result of a query on a file, opened by plain SQLite. */
export async function queryFile(file: Uint8Array, sql: string): Promise<unknown[][]> {
  const { sqlite3 } = await sharedOfficial();
  const { capi, wasm } = sqlite3;
  const database = new sqlite3.oo1.DB(':memory:');
  try {
    const bytes = wasm.allocFromTypedArray(file);
    const { length } = file;
    const flags = capi.SQLITE_DESERIALIZE_FREEONCLOSE;
    database.checkRc(
      capi.sqlite3_deserialize(database.pointer!, 'main', bytes, length, length, flags),
    );
    return database.exec({ sql, rowMode: 'array', returnValue: 'resultRows' });
  } finally {
    database.close();
  }
}

/** Inserts a row into the schema without parsing it: the result depends on the text. */
export function schemaRow(type: string, name: string, table: string, sql: string): string {
  const values = [type, name, table].map((text) => `'${text}'`).join(', ');
  return (
    'PRAGMA writable_schema=ON;' +
    `INSERT INTO sqlite_schema VALUES (${values}, ${type === 'view' || type === 'trigger' ? 0 : 2},` +
    ` '${sql.replaceAll("'", "''")}');`
  );
}

/** A transaction of a WAL: pages by number from 1, and the size of the database after it. */
export interface WalTransaction {
  readonly pages: readonly (readonly [number: number, page: Uint8Array])[];
  /** 0: the transaction has not ended. */
  readonly pageCountAfter: number;
}

/** The transaction that turns one file into another. */
export function walTransaction(before: Uint8Array, after: Uint8Array): WalTransaction {
  const pages: [number, Uint8Array][] = [];
  for (let at = 0; at < after.length; at += PAGE_BYTES) {
    const page = after.subarray(at, at + PAGE_BYTES);
    const isSame = Buffer.compare(page, before.subarray(at, at + PAGE_BYTES)) === 0;
    if (!isSame) pages.push([at / PAGE_BYTES + 1, page]);
  }
  return { pages, pageCountAfter: after.length / PAGE_BYTES };
}

/** A WAL of transactions, in either byte order of its sums. */
export function makeWal(
  transactions: readonly WalTransaction[],
  { salt = 7, isBigEndian = false } = {},
): Uint8Array {
  const frameCount = transactions.reduce((count, { pages }) => count + pages.length, 0);
  const wal = new Uint8Array(WAL_HEADER_BYTES + frameCount * (FRAME_HEADER_BYTES + PAGE_BYTES));
  const view = new DataView(wal.buffer);
  let sums: [number, number] = [0, 0];
  const add = (start: number, sizeBytes: number) => {
    for (let at = start; at < start + sizeBytes; at += 8) {
      const a = (sums[0] + view.getUint32(at, !isBigEndian) + sums[1]) >>> 0;
      sums = [a, (sums[1] + view.getUint32(at + 4, !isBigEndian) + a) >>> 0];
    }
  };
  const put = (at: number, ...words: number[]) => {
    for (const [i, word] of words.entries()) view.setUint32(at + 4 * i, word);
  };
  put(0, 0x377f0682 + Number(isBigEndian), 3_007_000, PAGE_BYTES, 0, salt, salt + 1);
  add(0, 24);
  put(24, ...sums);
  let at = WAL_HEADER_BYTES;
  for (const { pages, pageCountAfter } of transactions) {
    for (const [i, [number, page]] of pages.entries()) {
      put(at, number, i === pages.length - 1 ? pageCountAfter : 0, salt, salt + 1);
      wal.set(page, at + FRAME_HEADER_BYTES);
      add(at, 8);
      add(at + FRAME_HEADER_BYTES, PAGE_BYTES);
      put(at + 16, ...sums);
      at += FRAME_HEADER_BYTES + PAGE_BYTES;
    }
  }
  return wal;
}
