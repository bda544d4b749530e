// The only tab of its site: it writes and is closed at once. Beside the package, IndexedDB does the same.

import { openStorage } from '../../../src/index.ts';

declare global {
  interface Window {
    closings: typeof closings;
  }
}

const DATABASE = 'closings-of-indexeddb';

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE);
    request.onupgradeneeded = () => request.result.createObjectStore('written');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

const keysOf = (database: IDBDatabase): Promise<IDBValidKey[]> =>
  new Promise((resolve) => {
    const request = database.transaction('written').objectStore('written').getAllKeys();
    request.onsuccess = () => resolve(request.result);
  });

const closings = {
  /** Opens the medium, so that `write` writes to it at once. */
  async prepare(medium: 'package' | 'indexeddb'): Promise<void> {
    if (medium === 'package') {
      const storage = await openStorage('closings');
      await storage.get('x');
      closings.write = (key) => void storage.put(key, 'x'.repeat(1000)).catch(() => {});
      return;
    }
    const database = await openDatabase();
    closings.write = (key) => {
      database
        .transaction('written', 'readwrite')
        .objectStore('written')
        .put('x'.repeat(1000), key);
    };
  },

  write: (_key: string): void => {},

  /** Writes when the page goes away. */
  writeOnHide(key: string): void {
    addEventListener('pagehide', () => closings.write(key));
  },

  /** Writes when the page is hidden. */
  writeOnHidden(key: string): void {
    document.addEventListener('visibilitychange', () => closings.write(key));
  },

  /** Writes and closes this tab, in one task. */
  writeAndClose(key: string): void {
    setTimeout(() => {
      closings.write(key);
      close();
    });
  },

  async keys(medium: 'package' | 'indexeddb'): Promise<string[]> {
    if (medium === 'indexeddb') return (await keysOf(await openDatabase())) as string[];
    const storage = await openStorage('closings');
    return [...(await storage.list()).keys()];
  },
};

window.closings = closings;
