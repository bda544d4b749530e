// Remembers the critical section of an event that waits for a comparison. A section that the event opens after the wait
// belongs inside the remembered section, not inside the section of a task that has run meanwhile.

import type { StorageEnvironment } from './storage-environment.ts';

/** Remembers the critical section of the running event. The result runs a later step of the event in that section. */
export function rememberSection(
  environment: Pick<StorageEnvironment, 'continuation'>,
): <T>(step: () => Promise<T>) => Promise<T> {
  const go = environment.continuation();
  return (step) => new Promise((resolve, reject) => go(() => void step().then(resolve, reject)));
}
