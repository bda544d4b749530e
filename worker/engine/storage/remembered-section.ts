// The critical section of an event that waits for a comparison: a section that the event opens afterwards belongs inside it,
// and not inside the section of a task that has run meanwhile.

import type { StorageEnvironment } from './storage-environment.ts';

/** Remembers the critical section of the running event; the result runs a later step of the event in it. */
export function rememberSection(
  environment: Pick<StorageEnvironment, 'continuation'>,
): <T>(step: () => Promise<T>) => Promise<T> {
  const go = environment.continuation();
  return (step) => new Promise((resolve, reject) => go(() => void step().then(resolve, reject)));
}
