// What an origin holds, as any of its pages can see it without a worker: which directories there are, and the classes
// of the objects in one.
//
// Invariant: looking creates nothing.

/** The names of the classes of which the directory has objects, in order. */
export async function storedClasses(directory: string): Promise<string[]> {
  const name = `ctx-storage/${directory}`;
  const databases = await indexedDB.databases();
  if (!databases.some((database) => database.name === name)) return [];
  const database = await opened(name);
  try {
    if (!database.objectStoreNames.contains('objects')) return [];
    const index = database.transaction('objects').objectStore('objects').index('className');
    const names: string[] = [];
    await new Promise<void>((resolve, reject) => {
      const request = index.openKeyCursor(null, 'nextunique');
      request.onerror = () => reject(request.error);
      request.onsuccess = () => {
        const cursor = request.result;
        if (cursor === null) return resolve();
        names.push(String(cursor.key));
        cursor.continue();
      };
    });
    return names;
  } finally {
    database.close(); // a connection that stays would block who removes the database
  }
}

/** The directories of the origin that have been used, on either medium. */
export async function storedDirectories(): Promise<string[]> {
  const found = new Set<string>();
  for (const { name } of await indexedDB.databases()) {
    const [, directory] = /^ctx-storage\/([^/]+)/.exec(name ?? '') ?? [];
    if (directory !== undefined) found.add(directory);
  }
  try {
    for await (const name of (await navigator.storage.getDirectory()).keys()) found.add(name);
  } catch {
    // This browser has no such files.
  }
  return [...found].sort();
}

function opened(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name);
    // It was removed since: it must not come to exist empty.
    request.onupgradeneeded = () => request.transaction?.abort();
    request.onerror = () => reject(request.error);
    request.onsuccess = () => resolve(request.result);
  });
}
