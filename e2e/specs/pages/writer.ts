// A page that writes without end, and the conditions that its writes must meet after any kill.
//
// Write n is one transaction: a row of the table and the key "last", which so always agree. Rows
// carry their own length, so that a torn one shows.

import { openStorage } from '../../../src/index.ts';

declare global {
  interface Window {
    /** Given by the test: write `n` was acknowledged. Lives outside the browser. */
    acknowledge(n: number): Promise<void>;
  }
}

/** The content of the storage when it is opened again. */
export interface Verification {
  /** Number of the last write found; 0 when there is none. */
  readonly last: number;
  /** The faults, in words; empty when there are none. */
  readonly faults: readonly string[];
}

const OBJECT_NAME = 'writes';
const TEXT_LENGTH_MAX = 6000;
const LANES = 3;

/**
 * Writes without end, on several handles at once, until the page dies. A write's number is read in
 * its own transaction, so numbers have no gap whatever the order.
 */
export function startWriting(): void {
  for (let lane = 0; lane < LANES; lane++) void writeOn();
}

async function writeOn(): Promise<never> {
  const storage = await openStorage(OBJECT_NAME);
  for (;;) {
    const n = await storage.transaction(async (txn) => {
      const n = ((await txn.get<number>('last')) ?? 0) + 1;
      const text = 'x'.repeat((n * 7919) % TEXT_LENGTH_MAX);
      const insert = storage.sql.exec('INSERT INTO writes VALUES (?, ?, ?)', n, text, text.length);
      await Promise.all([insert.ready, txn.put('last', n)]);
      return n;
    });
    await window.acknowledge(n);
  }
}

/** Makes the table when there is none, and looks at every row there is. */
export async function verifyWrites(): Promise<Verification> {
  const faults: string[] = [];
  const storage = await openStorage(OBJECT_NAME);
  const { sql } = storage;
  const table = 'CREATE TABLE IF NOT EXISTS writes (n INTEGER PRIMARY KEY, text, length)';
  await sql.exec(table).ready;
  const { last, rows, torn } = await sql
    .exec<{ last: number; rows: number; torn: number }>(
      'SELECT coalesce(max(n), 0) last, count(*) rows, ' +
        'coalesce(sum(length(text) <> length), 0) torn FROM writes',
    )
    .one();
  if (rows !== last) faults.push(`${rows} rows, but the last is number ${last}`);
  if (torn !== 0) faults.push(`${torn} rows are torn`);
  const key = (await storage.get<number>('last')) ?? 0;
  if (key !== last) faults.push(`the key says ${key}, the table ${last}`);
  const check = await sql.exec('PRAGMA quick_check').one();
  if (check.quick_check !== 'ok') faults.push(`quick_check: ${check.quick_check}`);
  return { last, faults };
}
