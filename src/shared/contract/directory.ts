// The directories that callers need not name, and the lock of the worker that leads in one. Apart from other names,
// because a page needs it before its client is loaded.

/** The directory of handles that name none. */
export const DEFAULT_DIRECTORY = 'ctx-storage';

/** The directory of objects whose connection names none. */
export const OBJECTS_DIRECTORY = 'ctx-storage-objects';

/** Held by the worker that leads. */
export function leaderLockOf(directory: string): string {
  return `ctx-storage/${directory}/leader`;
}
