// Tests that changes are read up to a bound of their bytes, and that no more is read to learn that they have more.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { Capture } from '../capture/capture.ts';
import type { Changes } from '../changes/changes.ts';
import { encodeChanges } from '../changes/changes-bytes.ts';

const BYTES_MAX = 1_000_000;

let capture: Capture;
/** The bytes of the texts and blobs that statements and keys have returned. */
let readBytes = 0;

class Captured extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    const storage = this.ctx.storage as unknown as DurableObjectStorage;
    countReads(storage);
    capture = new Capture(storage, { life: 1, onWrite() {} });
  }
}

/** Counts the bytes of all that is read, by this package too. */
function countReads({ sql, kv }: DurableObjectStorage): void {
  const exec = sql.exec.bind(sql) as (...args: unknown[]) => { raw(): Iterable<unknown[]> };
  Object.defineProperty(sql, 'exec', {
    configurable: true,
    value: (...args: unknown[]) => {
      const cursor = exec(...args);
      const raw = cursor.raw.bind(cursor);
      const counted = function* () {
        for (const row of raw()) {
          for (const cell of row) readBytes += sizeOf(cell);
          yield row;
        }
      };
      return Object.defineProperty(cursor, 'raw', { value: counted });
    },
  });
  const get = kv.get.bind(kv);
  Object.defineProperty(kv, 'get', {
    value: (key: string) => {
      const value = get(key);
      readBytes += sizeOf(value);
      return value;
    },
  });
}

function sizeOf(cell: unknown): number {
  if (typeof cell === 'string') return cell.length;
  return cell instanceof ArrayBuffer ? cell.byteLength : 8;
}

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost({}, { Captured });
});
afterEach(() => host.close());

/** Returns the changes of a function's writes, and how many bytes were read for them. */
function changesOf(
  write: (storage: DurableObjectStorage) => void,
): Promise<{ changes: Changes | null; whole: number; readBytes: number; encoded: Uint8Array }> {
  return host.run(({ storage }) => {
    const before = capture.head();
    write(storage as unknown as DurableObjectStorage);
    capture.head();
    readBytes = 0;
    const changes = capture.changesSince(before, BYTES_MAX);
    const found = readBytes;
    const all = capture.changesSince(before, Number.POSITIVE_INFINITY)!;
    const encoded = encodeChanges(all);
    return { changes, whole: encoded.length, readBytes: found, encoded };
  });
}

const rows = (count: number, content: string) =>
  `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${count}) INSERT INTO t SELECT ${content} FROM c`;

test.each<[string, (storage: DurableObjectStorage) => void]>([
  ['large rows', ({ sql }) => void sql.exec(rows(40, 'zeroblob(100000)'))],
  ['small rows', ({ sql }) => void sql.exec(rows(45_000, 'i'))],
  [
    'rows of a table that has changed',
    ({ sql }) => void sql.exec('ALTER TABLE before ADD COLUMN c'),
  ],
  [
    'keys of deleted rows',
    ({ sql }) => {
      for (let i = 0; i < 1200; i++) sql.exec('INSERT INTO k VALUES (?)', `${i}`.padEnd(1000, 'x'));
      sql.exec('DELETE FROM k');
    },
  ],
  [
    'the sequences',
    ({ sql }) => {
      sql.exec('CREATE TABLE s (id INTEGER PRIMARY KEY AUTOINCREMENT)');
      sql.exec(
        rows(20, 'i')
          .replace('INTO t', 'INTO sqlite_sequence')
          .replace('SELECT i FROM', "SELECT printf('%.*c', 100000, 'x'), i FROM"),
      );
    },
  ],
  [
    'values of keys',
    ({ kv }) => {
      for (let i = 0; i < 20; i++) kv.put(`${i}`, 'x'.repeat(100_000));
    },
  ],
  [
    'keys',
    ({ kv }) => {
      for (let i = 0; i < 1000; i++) kv.put(`${i}`.padEnd(2000, 'x'), i);
    },
  ],
  [
    'deleted keys',
    ({ kv }) => {
      for (let i = 0; i < 1000; i++) kv.delete(`${i}`.padEnd(2000, 'x'));
    },
  ],
  [
    'the schema',
    ({ sql }) => {
      for (let i = 0; i < 15; i++) sql.exec(`CREATE VIEW v${i} AS SELECT '${'x'.repeat(90_000)}'`);
    },
  ],
])('[FOLC12] %s beyond the bound are not read, and the changes are null', async (_, write) => {
  await host.run(({ storage }) => {
    const { sql } = storage as unknown as DurableObjectStorage;
    sql.exec(
      'CREATE TABLE t (a); CREATE TABLE before (a); CREATE TABLE k (a TEXT PRIMARY KEY) WITHOUT ROWID',
    );
    sql.exec(rows(40, 'zeroblob(100000)').replace('INTO t', 'INTO before'));
  });
  const found = await changesOf(write);
  // A number of a byte or two counts as CELL_BYTES.
  expect(found.whole).toBeGreaterThan(BYTES_MAX / 4);
  expect(found.changes).toBeNull();
  expect(found.readBytes).toBeLessThan(BYTES_MAX + 400_000);
});

test('[FOLC12] changes up to the bound are the same as without one', async () => {
  await host.run(({ storage }) => {
    const { sql } = storage as unknown as DurableObjectStorage;
    sql.exec('CREATE TABLE t (a); CREATE TABLE s (id INTEGER PRIMARY KEY AUTOINCREMENT, a UNIQUE)');
  });
  const found = await changesOf(({ sql, kv }) => {
    sql.exec(rows(90, 'zeroblob(10000)'));
    sql.exec('INSERT INTO s (a) VALUES (1), (2), (3); DELETE FROM s WHERE id = 2');
    sql.exec('ALTER TABLE s ADD COLUMN b');
    kv.put('a', 1);
    kv.put('b', undefined);
    kv.delete('gone');
  });
  expect(found.changes).not.toBeNull();
  expect(encodeChanges(found.changes!)).toEqual(found.encoded);
});

test('[FOLC12] one row or key is read whatever size it has', async () => {
  await host.run(({ storage }) => {
    const { sql } = storage as unknown as DurableObjectStorage;
    sql.exec('CREATE TABLE t (a)');
  });
  const row = await changesOf(({ sql }) => void sql.exec(rows(1, 'zeroblob(1500000)')));
  expect(row.changes!.tables[0]!.rows).toHaveLength(1);
  const two = await changesOf(({ sql }) => void sql.exec(rows(2, 'zeroblob(600000)')));
  expect(two.changes).toBeNull();
});
