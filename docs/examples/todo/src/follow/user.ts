// Who has signed in on this device: the page signs in and out, and its worker asks, also without a network. Only the server
// can tell whether the session has ended. The name is not secret; it is in IndexedDB, which pages and workers can read.

const STORE = 'user';
const KEY = 'name';

export function userName(): Promise<string | undefined> {
  return inStore('readonly', (store) => store.get(KEY));
}

/** @throws Error if the server refuses, or does not answer */
export async function signIn(name: string, password: string): Promise<void> {
  await post('/sign-in', { name, password });
  await inStore('readwrite', (store) => store.put(name, KEY));
}

/**
 * Ends the session, runs `removeData` while its user is still known, and then forgets who it was.
 *
 * @throws Error if the server does not answer: the session would go on
 */
export async function signOut(removeData?: () => Promise<unknown>): Promise<void> {
  await post('/sign-out', null);
  await removeData?.();
  await inStore('readwrite', (store) => store.delete(KEY));
}

async function post(path: string, content: unknown): Promise<void> {
  const response = await fetch(path, { method: 'POST', body: JSON.stringify(content) });
  if (!response.ok) throw new Error(await response.text());
}

/** Resolves to the result of the request when its transaction is stored. */
async function inStore<T>(
  mode: IDBTransactionMode,
  request: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opening = indexedDB.open(STORE);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const made = request(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(made.result);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}
