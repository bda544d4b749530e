// Removes the data of a run: its folders and files of the private file system, its databases, and nothing else.
//
// It finds the data by the names under which contenders store.

import { SMALL_CONTENDERS } from './contenders.ts';

/** How long to wait for the files of an ended worker, which the browser releases a moment later. */
const RELEASE_MS_MAX = 5000;
const RETRY_MS = 100;

/** The database in which this package records the medium of each directory, also of those that are not removed. */
const MEDIA = { database: 'ctx-storage-media', store: 'media' };

/** Removes the data and returns descriptions of what could not be removed; empty if all is gone. */
export async function removeLeftovers(): Promise<string[]> {
  const { ours, idbStrict, idbRelaxed, sahpoolWal, limits } = SMALL_CONTENDERS;
  const directory = ours.configuration.name;
  const files = [ours, sahpoolWal, limits].map(({ configuration }) => configuration.name);
  const databases = [
    ...[idbStrict, idbRelaxed].map(({ configuration }) => configuration.name),
    `ctx-storage/${directory}`,
    `ctx-storage-files/${directory}`,
  ];
  const outcomes = await Promise.allSettled([
    ...files.map(removeFile),
    ...databases.map(removeDatabase),
    forgetMedium(directory),
  ]);
  return outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [String(outcome.reason)] : [],
  );
}

async function removeFile(name: string): Promise<void> {
  let root: FileSystemDirectoryHandle;
  try {
    root = await navigator.storage.getDirectory();
  } catch {
    return; // Nothing was stored there.
  }
  const startMs = performance.now();
  for (;;) {
    try {
      await root.removeEntry(name, { recursive: true });
      return;
    } catch (error) {
      if ((error as DOMException).name === 'NotFoundError') return;
      if (performance.now() - startMs > RELEASE_MS_MAX) throw new Error(`${name}: ${error}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

function removeDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    const late = setTimeout(() => reject(new Error(`${name}: in use`)), RELEASE_MS_MAX);
    request.onsuccess = () => {
      clearTimeout(late);
      resolve();
    };
    request.onerror = () => reject(new Error(`${name}: ${request.error}`));
  });
}

async function forgetMedium(directory: string): Promise<void> {
  const database = await openIfThere(MEDIA.database);
  if (database === null) return;
  try {
    if (!database.objectStoreNames.contains(MEDIA.store)) return;
    const transaction = database.transaction(MEDIA.store, 'readwrite');
    transaction.objectStore(MEDIA.store).delete(directory);
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(new Error(`${MEDIA.database}: ${transaction.error}`));
    });
  } finally {
    database.close();
  }
}

function openIfThere(name: string): Promise<IDBDatabase | null> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name);
    let isNew = false;
    request.onupgradeneeded = () => {
      isNew = true;
      request.transaction!.abort();
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => {
      if (isNew) resolve(null);
      else reject(new Error(`${name}: ${request.error}`));
    };
  });
}
