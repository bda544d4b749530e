// Serves a host over OPFS to the page that started this worker and, when it leads, to other tabs.
//
// With serve.ts and open-host.ts the only code of the worker that touches its global scope.

import { PageSessions } from '../sessions/page-sessions.ts';
import { type ServeEnvironment, serve } from './candidate.ts';
import { type HostOptions as OpenOptions, openHost } from './opfs-host.ts';
import { watchedHost } from './watched-host.ts';

/** What a worker hosts, whatever page asks for it. */
export type Hosting = Pick<OpenOptions, 'classes' | 'env' | 'idleMs' | 'limits'>;

/** To be called before anything is awaited, or the page's first message is lost. */
export function serveHost(hosting: Hosting): void {
  const scope = globalThis as unknown as ServeEnvironment['page'];
  const { setTimeout, clearTimeout } = globalThis;
  serve(
    async ({ directory, wasmUrl }) => {
      const { host, namespaces, watch } = await openHost({
        ...hosting,
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
