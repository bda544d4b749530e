// Names the media on which a browser's worker can store files.

/**
 * - `opfs`: the origin private file system, through synchronous access handles.
 * - `indexeddb`: IndexedDB, for browsers without such handles; the files of an object in use lie in memory.
 * - `memory`: nothing is persisted. The data is lost when the leading worker ends.
 */
export type StorageMedium = 'opfs' | 'indexeddb' | 'memory';

export const STORAGE_MEDIA: readonly StorageMedium[] = ['opfs', 'indexeddb', 'memory'];

/**
 * Returns true if a page that wants a medium may use a worker with the offered one. A page that wants null accepts any
 * persistent medium.
 */
export function acceptsMedium(wanted: StorageMedium | null, offered: StorageMedium): boolean {
  return wanted === null ? offered !== 'memory' : offered === wanted;
}

/** Reads the medium from a message of any version. Old versions, which had only one medium, did not send it. */
export function mediumIn(value: unknown): StorageMedium {
  return STORAGE_MEDIA.find((medium) => medium === value) ?? 'opfs';
}
