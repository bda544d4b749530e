// Serves a host to the page that started this worker and, when it leads, to other tabs.
//
// Only this file, browser-host.ts, browser-medium.ts and start-host.ts use the worker's global scope.

import { WASM_URL } from '../../src/contract/wasm-url.ts';
import { rehearse } from '../instance/rehearsal.ts';
import { noticesOf } from '../sessions/page-notices.ts';
import { PageSessions } from '../sessions/page-sessions.ts';
import type { After } from '../sessions/page-transaction.ts';
import { completeLimits } from '../sql/query-limits.ts';
import { openLogDatabase } from '../storage/log-database.ts';
import { loadSqlite } from '../vfs/sqlite-module.ts';
import { type BrowserHostOptions, startBrowserHost } from './browser-host.ts';
import {
  type CandidateEnvironment,
  type DirectoryOptions,
  type HostedCode,
  runCandidate,
  type ServedHost,
} from './candidate.ts';
import { codeDigest } from './code-digest.ts';
import { PageModule } from './page-module.ts';
import { watchedHost } from './watched-host.ts';

/** What a worker hosts, the same for every page. */
export type BrowserWorkerOptions = Pick<
  BrowserHostOptions,
  'classes' | 'env' | 'idleMs' | 'limits'
> &
  Pick<HostedCode, 'build' | 'compareBuilds'>;

/** Call it before anything is awaited; otherwise the page's first message is lost. */
export function startBrowserWorker(options: BrowserWorkerOptions): void {
  const { build, compareBuilds, ...hosted } = options;
  const { setTimeout, clearTimeout } = globalThis; // before a host replaces them
  const after: After = (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  };
  const page = globalThis as unknown as CandidateEnvironment['page'];
  const pageModule = new PageModule(globalThis);
  const wasmOf = (wasmUrl: string | null) =>
    pageModule.of(wasmUrl === null ? WASM_URL : new URL(wasmUrl));
  runCandidate(
    {
      ...(build !== undefined && { build }),
      ...(compareBuilds !== undefined && { compareBuilds }),
      digest: () => codeDigest(location.href, options.classes),
      prepare: async ({ wasmUrl }) => {
        const sqlite = await loadSqlite(await wasmOf(wasmUrl));
        await rehearse((log, events) => openLogDatabase(sqlite, log, events, completeLimits()));
      },
      createHost: (directory) =>
        createHost({ ...hosted, wasm: wasmOf(directory.wasmUrl) }, directory, after),
    },
    {
      page,
      locks: navigator.locks,
      after,
      openChannel: (name) => new BroadcastChannel(name),
    },
  );
}

async function createHost(
  hosted: Omit<BrowserHostOptions, 'directory' | 'medium'>,
  { directory, medium: wanted }: DirectoryOptions,
  after: After,
): Promise<ServedHost> {
  const { host, namespaces, turns, watch, medium, close } = await startBrowserHost({
    ...hosted,
    directory,
    medium: wanted,
  });
  const sessions = new PageSessions(host, after);
  const service = watchedHost(sessions, namespaces.calls, namespaces.live, watch, {
    get isQuiet() {
      return host.isQuiet && !sessions.isInTransaction;
    },
    rest: () => host.rest(),
    notices: noticesOf(host),
    // Each message has a turn, as if it had come alone: in a browser, an event lasts as long as its turn.
    pace: {
      deliver: (task) => turns.nextTurn(task),
      send: (task) => turns.afterTurns(task),
    },
    close,
  });
  return { service, medium };
}
