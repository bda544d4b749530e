// The page of the benchmark of the fallback: puts through the package on IndexedDB, and puts of `idb` itself.

import { openDB } from 'idb';
import { openStorage } from '../../../src/index.ts';

declare global {
  interface Window {
    fallback: {
      /** Milliseconds of each of `count` puts of 100 bytes, one after the other, through the package. */
      puts(count: number): Promise<number[]>;
      /** The same by a strict transaction of `idb` each. */
      barePuts(count: number): Promise<number[]>;
    };
  }
}

const storage = openStorage('bench', { directory: 'bench-fallback', medium: 'indexeddb' });
const database = openDB('bench-bare', 1, {
  upgrade: (created) => void created.createObjectStore('values'),
});

window.fallback = {
  async puts(count) {
    const opened = await storage;
    return timesOf(count, (i, bytes) => opened.put(`k${i}`, bytes));
  },
  async barePuts(count) {
    const opened = await database;
    return timesOf(count, async (i, bytes) => {
      const transaction = opened.transaction('values', 'readwrite', { durability: 'strict' });
      await Promise.all([transaction.store.put(bytes, `k${i}`), transaction.done]);
    });
  },
};

async function timesOf(
  count: number,
  put: (i: number, bytes: Uint8Array) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    // Other bytes each time: writing what is stored already changes nothing.
    const bytes = crypto.getRandomValues(new Uint8Array(100));
    const startMs = performance.now();
    await put(i, bytes);
    times.push(performance.now() - startMs);
  }
  return times;
}
