// Web Locks as signs of life: who lives holds a lock, and who must know when it died waits for it.
//
// A browser frees the locks of a page or a worker however it ends (closed, terminated, killed), and
// tells nobody else: a lost peer sends no message and its port no event.

/** The part of `navigator.locks` that is used; passed in, so that tests end agents at will. */
export interface Locks {
  request(
    name: string,
    options: { readonly mode?: 'exclusive' | 'shared'; readonly signal?: AbortSignal },
    callback: () => Promise<void>,
  ): Promise<unknown>;
}

/** Resolves once the lock is held; it is held for as long as its owner lives. */
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
 * Calls back when nobody holds the lock any more, and not after `signal` was aborted.
 *
 * The lock must have been held before the name was told to anyone, or this fires at once. Shared,
 * because several wait for the same one.
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
      // Rejects when the signal was aborted, and when this very page is going away.
    });
}
