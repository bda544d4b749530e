// The worker that a page starts: objects over OPFS, served to this page and, when it leads, to the
// pages of other tabs.

import { openHost } from './open-host.ts';
import { PageSessions } from './runtime/page-sessions.ts';
import { serve } from './serve.ts';

const scope = globalThis as unknown as DedicatedWorkerGlobalScope;
const { setTimeout, clearTimeout } = globalThis;

serve(
  async ({ directory, wasmUrl }) => {
    const { host } = await openHost({
      directory,
      ...(wasmUrl !== null && { wasm: new URL(wasmUrl) }),
    });
    return new PageSessions(host, (delayMs, task) => {
      const timer = setTimeout(task, delayMs);
      return () => clearTimeout(timer);
    });
  },
  {
    page: scope,
    locks: navigator.locks,
    openChannel: (name) => new BroadcastChannel(name),
  },
);
