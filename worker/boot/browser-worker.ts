// Serves a host over OPFS to the page that started this worker and, when it leads, to other tabs.
//
// Only this file, opfs-host.ts and start-host.ts use the worker's global scope.

import { PageSessions } from '../sessions/page-sessions.ts';
import { type CandidateEnvironment, runCandidate } from './candidate.ts';
import { type OpfsHostOptions, startOpfsHost } from './opfs-host.ts';
import { watchedHost } from './watched-host.ts';

/** What a worker hosts, the same for every page. */
export type BrowserWorkerOptions = Pick<OpfsHostOptions, 'classes' | 'env' | 'idleMs' | 'limits'>;

/** Call it before anything is awaited; otherwise the page's first message is lost. */
export function startBrowserWorker(options: BrowserWorkerOptions): void {
  const scope = globalThis as unknown as CandidateEnvironment['page'];
  const { setTimeout, clearTimeout } = globalThis;
  runCandidate(
    async ({ directory, wasmUrl }) => {
      const { host, namespaces, watch } = await startOpfsHost({
        ...options,
        directory,
        ...(wasmUrl !== null && { wasm: new URL(wasmUrl) }),
      });
      const sessions = new PageSessions(host, (delayMs, task) => {
        const timer = setTimeout(task, delayMs);
        return () => clearTimeout(timer);
      });
      return watchedHost(sessions, namespaces.calls, namespaces.live, watch);
    },
    {
      page: scope,
      locks: navigator.locks,
      after: (delayMs, task) => void setTimeout(task, delayMs),
      openChannel: (name) => new BroadcastChannel(name),
    },
  );
}
