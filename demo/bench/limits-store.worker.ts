// Measures the least that each operation can cost: a message for a call of a page, one write and one flush of a file
// for a durable write, a prepared statement of SQLite in memory for a query.

import sqlite3InitModule from '@sqlite.org/sqlite-wasm';
import { ENTRY_COUNT, freshValue, key, ROW_COUNT, row } from './data.ts';
import { STATEMENTS, TABLES } from './statements.ts';
import type { Store } from './store.ts';

const FILE_BYTES = 1 << 24;
/** How many bytes a commit writes in addition to the value: the place of the value, and a checksum. */
const OVERHEAD_BYTES = 230;
const ROW_BYTES = 45;

export async function limitsStore(name: string): Promise<Store> {
  const write = await writer(name);
  const select = await bareSelect();
  const entries = new Map<string, Uint8Array>();
  const rows = Array.from({ length: ROW_COUNT }, (_, i) => ({ id: i + 1, ...row(i) }));
  let lastInserted = '';
  return {
    put: (name, value) => {
      entries.set(name, value);
      write(value.length + OVERHEAD_BYTES);
    },
    get: (name) => entries.get(name),
    transaction: (written) => {
      let length = 0;
      for (const [name, value] of written) {
        entries.set(name, value);
        length += value.length + OVERHEAD_BYTES;
      }
      write(length);
    },
    insert: (inserted) => {
      lastInserted = inserted.at(-1)!.a;
      write(inserted.length * ROW_BYTES);
    },
    lastInserted: () => lastInserted,
    scan: () => rows,
    select,
    fill: () => {
      for (let i = 0; i < ENTRY_COUNT; i++) entries.set(key(i), freshValue());
      entries.set('large', freshValue(131_000));
    },
  };
}

/** Returns a function that overwrites part of a file of fixed length with new bytes, in a circle, and flushes. */
async function writer(name: string): Promise<(length: number) => void> {
  const root = await navigator.storage.getDirectory();
  const file = await (await root.getFileHandle(name, { create: true })).createSyncAccessHandle();
  file.write(new Uint8Array(FILE_BYTES));
  file.flush();
  const bytes = new Uint8Array(1 << 20);
  let at = 0;
  return (length) => {
    if (at + length > FILE_BYTES) at = 0;
    bytes[0]! += 1;
    file.write(bytes.subarray(0, length), { at });
    file.flush();
    at += length;
  };
}

/** Selects by key through SQLite's C functions, without any library. */
async function bareSelect(): Promise<(id: number) => string> {
  const sqlite3 = await sqlite3InitModule();
  const db = new sqlite3.oo1.DB(':memory:');
  db.exec(TABLES[1]!);
  const fill = db.prepare(STATEMENTS.fillRow);
  for (let i = 0; i < ROW_COUNT; i++) {
    const { a, b, c } = row(i);
    fill.bind([a, b, c]).stepReset();
  }
  const { pointer } = db.prepare(STATEMENTS.select);
  const c = sqlite3.wasm.exports as unknown as Record<string, (...parameters: unknown[]) => number>;
  const text = new TextDecoder();
  return (id) => {
    c.sqlite3_bind_int!(pointer, 1, id);
    c.sqlite3_step!(pointer);
    const from = c.sqlite3_column_text!(pointer, 0);
    const length = c.sqlite3_column_bytes!(pointer, 0);
    const found = text.decode(sqlite3.wasm.heap8u().slice(from, from + length));
    c.sqlite3_reset!(pointer);
    return found;
  };
}
