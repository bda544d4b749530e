// A tab that fills storage: many objects, many keys and many rows. Each function returns its count.

import { connect, openStorage } from '../../../src/index.ts';
import type { RemoteStorage } from '../../../src/shared/contract/storage.ts';
import type { HandleCount } from '../../specs/pages/handle-count.ts';
import type { Classes } from './scale-worker.ts';

declare global {
  interface Window {
    scale: typeof scale;
  }
}

/** Calls under way at once. */
const AT_ONCE = 32;
const KEYS_A_CALL = 128;
const KEYS_A_PAGE = 1000;
const ROWS_A_STATEMENT = 20_000;
const ROWS_A_TRANSACTION = 200_000;

let big: RemoteStorage | undefined;
const connection = () => {
  const address = new URL('./objects-worker.js', import.meta.url);
  return connect<Classes>(() => new Worker(address, { type: 'module' }));
};

async function bigObject(): Promise<RemoteStorage> {
  big ??= await openStorage('big');
  return big;
}

/** Runs the act for 0 … count - 1, several at once, in order of their beginnings. */
async function each(count: number, act: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const line = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, line));
}

const keyOf = (n: number) => `key ${String(n).padStart(9, '0')}`;

const scale = {
  async makeObjects(count: number): Promise<number> {
    const { env } = await connection();
    await each(count, (n) => env.Book.getByName(`object ${n}`).add());
    return count;
  },

  async listObjects(): Promise<number> {
    return (await (await connection()).list('Book')).length;
  },

  /** The first part of the list, as a page of a user interface would ask for it. */
  async listPart(limit: number): Promise<number> {
    return (await (await connection()).list('Book', { limit })).length;
  },

  /** Files that the worker of the objects has open. */
  async handles(): Promise<HandleCount> {
    return await (await connection()).env.Book.getByName('object 0').handles();
  },

  /** Opens every `stride`th object again and reads it. */
  async readObjects(count: number, stride: number): Promise<number> {
    const { env } = await connection();
    let found = 0;
    await each(Math.floor(count / stride), async (n) => {
      const count = await env.Book.getByName(`object ${n * stride}`).count();
      found += count;
    });
    return found;
  },

  async putKeys(count: number): Promise<number> {
    const storage = await bigObject();
    await each(Math.ceil(count / KEYS_A_CALL), async (call) => {
      const entries: Record<string, { n: number; text: string }> = {};
      const end = Math.min(count, (call + 1) * KEYS_A_CALL);
      for (let n = call * KEYS_A_CALL; n < end; n++) entries[keyOf(n)] = { n, text: 'some text' };
      await storage.put(entries);
    });
    return count;
  },

  async listKeys(): Promise<number> {
    const storage = await bigObject();
    let found = 0;
    let startAfter = '';
    for (;;) {
      const page = await storage.list({ limit: KEYS_A_PAGE, startAfter });
      if (page.size === 0) return found;
      found += page.size;
      startAfter = [...page.keys()].at(-1)!;
    }
  },

  async getKeys(count: number, times: number): Promise<number> {
    const storage = await bigObject();
    let found = 0;
    await each(times, async (n) => {
      // A stride that is coprime to the counts: all over the keys.
      const value = await storage.get<{ n: number }>(keyOf((n * 7919) % count));
      if (value?.n === (n * 7919) % count) found += 1;
    });
    return found;
  },

  async insertRows(count: number): Promise<number> {
    const storage = await bigObject();
    await storage.sql.exec('CREATE TABLE IF NOT EXISTS r(id INTEGER PRIMARY KEY, a, b)').ready;
    for (let first = 0; first < count; first += ROWS_A_TRANSACTION) {
      const end = Math.min(count, first + ROWS_A_TRANSACTION);
      await storage.transaction(async () => {
        for (let from = first; from < end; from += ROWS_A_STATEMENT) {
          const to = Math.min(end, from + ROWS_A_STATEMENT);
          await storage.sql.exec(
            'WITH RECURSIVE c(n) AS (SELECT CAST(? AS INTEGER) UNION ALL ' +
              'SELECT n + 1 FROM c WHERE n + 1 < ?) ' +
              "INSERT INTO r SELECT n, n % 1000, 'row ' || n FROM c",
            from,
            to,
          ).ready;
        }
      });
    }
    return count;
  },

  async countRows(): Promise<number> {
    const storage = await bigObject();
    return (await storage.sql.exec<{ n: number }>('SELECT count(*) n FROM r').one()).n;
  },

  async findRows(count: number, times: number): Promise<number> {
    const storage = await bigObject();
    let found = 0;
    await each(times, async (n) => {
      const id = (n * 7919) % count;
      const row = await storage.sql.exec<{ b: string }>('SELECT b FROM r WHERE id = ?', id).one();
      if (row.b === `row ${id}`) found += 1;
    });
    return found;
  },

  async databaseBytes(): Promise<number> {
    return await (await bigObject()).sql.databaseSize;
  },
};

window.scale = scale;
