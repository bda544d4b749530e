// Implements the measured store on IndexedDB through the library idb, with one transaction for each write.

import { openDB } from 'idb';
import { ENTRY_COUNT, freshValue, key, ROW_COUNT, row } from './data.ts';
import type { Store } from './store.ts';

/** Opens the store. `durability` is `strict`, which flushes each transaction, or `relaxed`, which does not. */
export async function idbStore(name: string, durability: string): Promise<Store> {
  const db = await openDB(name, 1, {
    upgrade(created) {
      created.createObjectStore('kv');
      created.createObjectStore('t', { keyPath: 'id' });
      created.createObjectStore('u', { keyPath: 'id', autoIncrement: true });
    },
    // The database closes when somebody wants to delete it, who would otherwise wait.
    blocking: (_current, _blocked, event) => (event.target as IDBDatabase).close(),
  });
  const write = async (store: string, puts: Iterable<[value: unknown, key?: string]>) => {
    const options = { durability: durability as IDBTransactionDurability };
    const transaction = db.transaction(store, 'readwrite', options);
    if (store === 'u') void transaction.store.clear();
    for (const [value, key] of puts) void transaction.store.put(value, key);
    await transaction.done;
  };
  return {
    put: (name, value) => write('kv', [[value, name]]),
    get: (name) => db.get('kv', name),
    list: async () => {
      const range = IDBKeyRange.bound('k', 'l', false, true);
      const { store } = db.transaction('kv');
      const [keys, values] = await Promise.all([store.getAllKeys(range), store.getAll(range)]);
      return new Map(keys.map((key, i) => [key, values[i]])).size;
    },
    transaction: (entries) =>
      write(
        'kv',
        entries.map(([name, value]) => [value, name]),
      ),
    insert: (rows) =>
      write(
        'u',
        rows.map((row) => [row]),
      ),
    lastInserted: async () => {
      const cursor = await db.transaction('u').store.openCursor(null, 'prev');
      return cursor!.value.a;
    },
    scan: () => db.getAll('t'),
    select: async (id) => (await db.get('t', id)).a,
    fill: async () => {
      await write(
        'kv',
        Array.from({ length: ENTRY_COUNT }, (_, i) => [freshValue(), key(i)]),
      );
      await write(
        't',
        Array.from({ length: ROW_COUNT }, (_, i) => [{ id: i + 1, ...row(i) }]),
      );
    },
  };
}
