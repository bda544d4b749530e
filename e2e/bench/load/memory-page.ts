// A tab whose objects fill the caches of SQLite.

import { openStorage } from '../../../src/index.ts';

declare global {
  interface Window {
    memory: typeof memory;
  }
}

const VALUE_BYTES = 100_000;

const memory = {
  /** Writes and reads `values` values of 100 kB in each of `objects` objects. */
  async fill(objects: number, values: number): Promise<void> {
    for (let n = 0; n < objects; n++) {
      const storage = await openStorage(`object ${n}`);
      for (let key = 0; key < values; key++) {
        await storage.put(`key ${key}`, new Uint8Array(VALUE_BYTES).fill(key));
      }
      await storage.list();
    }
  },

  async read(objects: number): Promise<number> {
    let sum = 0;
    for (let n = 0; n < objects; n++) {
      const storage = await openStorage(`object ${n}`);
      sum += (await storage.get<Uint8Array>('key 1'))![0]!;
    }
    return sum;
  },
};

window.memory = memory;
