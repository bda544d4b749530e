// The page of the benchmark of the fallback: puts through the package on IndexedDB, and puts of `idb` itself.

import { openDB } from 'idb';
import { openStorage } from '../../../src/index.ts';

declare global {
  interface Window {
    fallback: {
      /**
       * Returns the milliseconds of each of `count` puts of 100 bytes, made by `writers` writers at once, through the
       * package.
       */
      puts(count: number, writers: number): Promise<number[]>;
      /** Returns the milliseconds of the same puts with `idb`, each in a strict transaction. */
      barePuts(count: number, writers: number): Promise<number[]>;
    };
  }
}

const storage = openStorage('bench', { directory: 'bench-fallback', medium: 'indexeddb' });
const database = openDB('bench-bare', 1, {
  upgrade: (created) => void created.createObjectStore('values'),
});

window.fallback = {
  async puts(count, writers) {
    const opened = await storage;
    return timesOf(count, writers, (key, bytes) => opened.put(key, bytes));
  },
  async barePuts(count, writers) {
    const opened = await database;
    return timesOf(count, writers, async (key, bytes) => {
      const transaction = opened.transaction('values', 'readwrite', { durability: 'strict' });
      await Promise.all([transaction.store.put(bytes, key), transaction.done]);
    });
  },
};

async function timesOf(
  count: number,
  writers: number,
  put: (key: string, bytes: Uint8Array) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  const write = async (writer: number) => {
    for (let i = 0; i < count; i++) {
      // Write other bytes each time: writing the stored bytes again changes nothing.
      const bytes = crypto.getRandomValues(new Uint8Array(100));
      const startMs = performance.now();
      await put(`k${i * writers + writer}`, bytes);
      times.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return times;
}
