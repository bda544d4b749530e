// Serves a host over OPFS to the page that started this worker and, when it leads, to other tabs.
//
// With serve.ts and open-host.ts the only code of the worker that touches its global scope.

import { PageSessions } from '../sessions/page-sessions.ts';
import { type CandidateEnvironment, runCandidate } from './candidate.ts';
import { type OpfsHostOptions, startOpfsHost } from './opfs-host.ts';
import { watchedHost } from './watched-host.ts';

/** What a worker hosts, whatever page asks for it. */
export type BrowserWorkerOptions = Pick<OpfsHostOptions, 'classes' | 'env' | 'idleMs' | 'limits'>;

/** To be called before anything is awaited, or the page's first message is lost. */
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
      const served = {
        open: sessions.open.bind(sessions),
        execute: sessions.execute.bind(sessions),
        close: sessions.close.bind(sessions),
        objects: namespaces.calls,
      };
      return watchedHost(served, watch);
    },
    {
      page: scope,
      locks: navigator.locks,
      after: (delayMs, task) => void setTimeout(task, delayMs),
      openChannel: (name) => new BroadcastChannel(name),
    },
  );
}
