// Finds the living workers of the app by the locks that they hold. The helper's own worker is not among them.

import { deploymentIn } from '@ctx-storage/core/contract';
import type { ControlMessage, namesOf } from '@ctx-storage/core/wire';

type Names = ReturnType<typeof namesOf>;

/**
 * The time at which the helper's page says that it was opened. It is earlier than any other, so that every deployment
 * of the app counts as newer than the helper's.
 */
export const HELPER_STARTED_MS = 0;

/** Returns how many workers of the app lead or wait to lead. */
export async function countAppCandidates({ candidateLock }: Names): Promise<number> {
  const { held = [] } = await navigator.locks.query();
  return held.filter(({ name }) => name?.startsWith(candidateLock) && isOfApp(name, candidateLock))
    .length;
}

function isOfApp(name: string, prefix: string): boolean {
  try {
    const deployment = deploymentIn(JSON.parse(name.slice(prefix.length)).deployment);
    return deployment !== null && deployment.startedMs !== HELPER_STARTED_MS;
  } catch {
    return false; // other code of the origin holds a lock of this name
  }
}

/** Returns the name of the worker that leads; null if no worker answers in time. */
export function leadingWorker(
  { controlChannel }: Names,
  after: (delayMs: number, task: () => void) => () => void,
  waitMs: number,
): Promise<string | null> {
  return new Promise((resolve) => {
    const channel = new BroadcastChannel(controlChannel);
    const end = (worker: string | null) => {
      cancel();
      channel.close();
      resolve(worker);
    };
    const cancel = after(waitMs, () => end(null));
    channel.addEventListener('message', ({ data }: MessageEvent<ControlMessage | null>) => {
      if (data?.type === 'leads') end(data.worker);
    });
    channel.postMessage({ type: 'who' } satisfies ControlMessage);
  });
}
