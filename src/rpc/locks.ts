// Web Locks show whether a page or worker is alive: it holds a lock, and others wait for that lock
// to learn that it has ended.
//
// A browser frees the locks of a page or worker however it ends (closed, terminated, killed). There
// is no other signal: a lost peer sends no message, and its port fires no event.

/**
 * The part of `navigator.locks` that is used; a parameter, so that tests can end pages and workers.
 */
export interface Locks {
  request(
    name: string,
    options: { readonly mode?: 'exclusive' | 'shared'; readonly signal?: AbortSignal },
    callback: () => Promise<void>,
  ): Promise<unknown>;
}

/** Resolves once the lock is held. It is held until the page or worker ends. */
export function holdForLife(locks: Locks, name: string): Promise<void> {
  return new Promise((held, refused) => {
    locks
      .request(name, {}, () => {
        held();
        return new Promise<void>(() => {});
      })
      .catch(refused);
  });
}

/**
 * Calls back when the lock has been released, unless `signal` was aborted before.
 *
 * The owner must hold the lock before it tells anyone the name; otherwise this calls back at once.
 * The lock is requested as shared, because several pages may wait for it.
 */
export function whenReleased(
  locks: Locks,
  name: string,
  signal: AbortSignal,
  released: () => void,
): void {
  const options = { mode: 'shared', signal } as const;
  locks
    .request(name, options, async () => {})
    .then(released, () => {
      // Rejects when the signal is aborted, or when this page itself is being closed.
    });
}
