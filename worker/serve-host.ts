// Serves a host over OPFS to the page that started this worker and, when it leads, to other tabs.
//
// With serve.ts and open-host.ts the only code of the worker that touches its global scope.

import { type HostOptions as OpenOptions, openHost } from './open-host.ts';
import { PageSessions } from './runtime/page-sessions.ts';
import { type ServeEnvironment, serve } from './serve.ts';

/** What a worker hosts, whatever page asks for it. */
export type Hosting = Pick<OpenOptions, 'classes' | 'env' | 'idleMs'>;

/** To be called before anything is awaited, or the page's first message is lost. */
export function serveHost(hosting: Hosting): void {
  const scope = globalThis as unknown as ServeEnvironment['page'];
  const { setTimeout, clearTimeout } = globalThis;
  serve(
    async ({ directory, wasmUrl }) => {
      const { host, namespaces } = await openHost({
        ...hosting,
        directory,
        ...(wasmUrl !== null && { wasm: new URL(wasmUrl) }),
      });
      const sessions = new PageSessions(host, (delayMs, task) => {
        const timer = setTimeout(task, delayMs);
        return () => clearTimeout(timer);
      });
      return {
        open: (target) => sessions.open(target),
        execute: (session, calls) => sessions.execute(session, calls),
        close: (session) => sessions.close(session),
        objects: namespaces.calls,
      };
    },
    {
      page: scope,
      locks: navigator.locks,
      openChannel: (name) => new BroadcastChannel(name),
    },
  );
}
