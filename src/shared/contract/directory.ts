// Defines the default directories, and the name of a directory's leader lock. They are separate from other names, because
// a page needs them before its client is loaded.

/** The directory of handles that do not name a directory. */
export const DEFAULT_DIRECTORY = 'ctx-storage';

/** The directory of objects whose connection does not name a directory. */
export const OBJECTS_DIRECTORY = 'ctx-storage-objects';

/** Makes the name of the lock that the leading worker of a directory holds. */
export function leaderLockOf(directory: string): string {
  return `ctx-storage/${directory}/leader`;
}
