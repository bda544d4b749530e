// Reads what an origin stores, as any of its pages can without a worker: its directories, and the classes of the
// objects in a directory.
//
// Invariant: reading creates nothing.

/** Returns the names of the classes that have objects in the directory, in order. */
export async function storedClasses(directory: string): Promise<string[]> {
  const name = `ctx-storage/${directory}`;
  const databases = await indexedDB.databases();
  if (!databases.some((database) => database.name === name)) return [];
  const database = await openDatabase(name);
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
    database.close(); // an open connection would block whoever deletes the database
  }
}

/** Returns the ids of the directory's objects of `openStorage`, on either medium, in order. */
export async function storedStorageIds(directory: string): Promise<string[]> {
  const keys = [...(await foldersIn(directory)), ...(await storedKeys(directory))];
  // The keys of other objects begin with the name of a class.
  return [...new Set(keys)].filter((key) => /^[0-9a-f]{64}$/.test(key)).sort();
}

async function foldersIn(directory: string): Promise<string[]> {
  try {
    const root = await navigator.storage.getDirectory();
    return await Array.fromAsync((await root.getDirectoryHandle(directory)).keys());
  } catch {
    return []; // the folder does not exist, or the browser has no private file system
  }
}

/** Returns the keys of objects whose files are rows of IndexedDB. */
async function storedKeys(directory: string): Promise<string[]> {
  const name = `ctx-storage-files/${directory}`;
  const databases = await indexedDB.databases();
  if (!databases.some((database) => database.name === name)) return [];
  const database = await openDatabase(name);
  try {
    if (!database.objectStoreNames.contains('files')) return [];
    const request = database.transaction('files').objectStore('files').getAllKeys();
    return await new Promise((resolve, reject) => {
      request.onerror = () => reject(request.error);
      request.onsuccess = () => resolve(request.result.map((path) => (path as [string])[0]));
    });
  } finally {
    database.close();
  }
}

/** Returns the directories of the origin that have been used, on either medium. */
export async function storedDirectories(): Promise<string[]> {
  const found = new Set<string>();
  for (const { name } of await indexedDB.databases()) {
    const [, directory] = /^ctx-storage(?:-files)?\/([^/]+)/.exec(name ?? '') ?? [];
    if (directory !== undefined) found.add(directory);
  }
  try {
    for await (const name of (await navigator.storage.getDirectory()).keys()) found.add(name);
  } catch {
    // The browser has no private file system.
  }
  return [...found].sort();
}

function openDatabase(name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name);
    // The database was removed in the meantime, and opening it must not create an empty one.
    request.onupgradeneeded = () => request.transaction?.abort();
    request.onerror = () => reject(request.error);
    request.onsuccess = () => resolve(request.result);
  });
}
