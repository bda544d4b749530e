// The media on which a browser's worker keeps files, by their names.

/**
 * - `opfs`: the origin private file system, through synchronous access handles.
 * - `indexeddb`: IndexedDB, for browsers without such handles; the files of an object in use lie in memory.
 * - `memory`: nothing is kept. Its data ends with the worker that leads.
 */
export type StorageMedium = 'opfs' | 'indexeddb' | 'memory';

export const STORAGE_MEDIA: readonly StorageMedium[] = ['opfs', 'indexeddb', 'memory'];

/** True if a page that asks for a medium (null: for any that keeps data) may use a worker on another. */
export function acceptsMedium(wanted: StorageMedium | null, offered: StorageMedium): boolean {
  return wanted === null ? offered !== 'memory' : offered === wanted;
}

/** The medium in a message of any version; the versions that did not say knew only one. */
export function mediumIn(value: unknown): StorageMedium {
  return STORAGE_MEDIA.find((medium) => medium === value) ?? 'opfs';
}
