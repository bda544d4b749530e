// Runs a browser's worker: it serves objects to the page that started it and, if it leads, to other tabs.
//
// Only this file, browser-host.ts, browser-medium.ts and start-host.ts access the worker's global scope.

import { ownWasmUrl } from '../../../src/shared/contract/wasm-url.ts';
import { MemoryDirectory } from '../../engine/file/memory-file.ts';
import { ObjectFiles } from '../../engine/log/object-files.ts';
import { completeLimits } from '../../engine/sql/query-limits.ts';
import { openLogDatabase } from '../../engine/storage/databases.ts';
import { lateCode } from '../../engine/storage/load-late.ts';
import type { OpenDatabase } from '../../engine/storage/moment.ts';
import { ObjectStorage } from '../../engine/storage/object-storage.ts';
import type { StorageEnvironment } from '../../engine/storage/storage-environment.ts';
import { loadSqlite } from '../../engine/vfs/sqlite-module.ts';
import type { After } from '../../objects/sessions/page-transaction.ts';
import { type BrowserHostOptions, startBrowserHost } from './browser-host.ts';
import {
  type CandidateEnvironment,
  type DirectoryOptions,
  type HostedCode,
  runCandidate,
  type ServedHost,
} from './candidate.ts';
import { codeDigest } from './deployment-order.ts';
import { PageModule } from './page-module.ts';
import { pageService } from './page-service.ts';
import type { HostedApp } from './start-host.ts';

/** The options of a worker's host that do not depend on the page. */
export type BrowserWorkerOptions = Pick<
  BrowserHostOptions,
  'classes' | keyof HostedApp | 'realm' | 'idleMs' | 'limits' | 'history'
> &
  Pick<HostedCode, 'build' | 'compareBuilds'> & {
    /** The texts of the entry points' code, which become part of the deployment's digest. */
    readonly entryTexts?: readonly string[];
  };

/** Starts serving. Call it before the first `await`; otherwise the page's first message is lost. */
export function startBrowserWorker(options: BrowserWorkerOptions): void {
  const { build, compareBuilds, entryTexts, ...hosted } = options;
  const { setTimeout, clearTimeout } = globalThis; // Keep the timers before a host replaces them.
  const after: After = (delayMs, task) => {
    const timer = setTimeout(task, delayMs);
    return () => clearTimeout(timer);
  };
  const page = globalThis as unknown as CandidateEnvironment['page'];
  const pageModule = new PageModule(globalThis);
  const wasmOf = ({ wasmUrl, pageWasmUrl }: DirectoryOptions) =>
    pageModule.of(wasmUrl ?? ownWasmUrl()?.href ?? pageWasmUrl);
  runCandidate(
    {
      ...(build !== undefined && { build }),
      ...(compareBuilds !== undefined && { compareBuilds }),
      digest: () => codeDigest(location.href, options.classes, entryTexts),
      prepare: async (directory) => {
        const sqlite = await loadSqlite(await wasmOf(directory));
        await rehearse((log, events) => openLogDatabase(sqlite, log, events, completeLimits()));
      },
      createHost: (directory) => {
        lateCode.address = directory.lateUrl;
        return createHost({ ...hosted, wasm: wasmOf(directory) }, directory, after);
      },
    },
    {
      page,
      locks: navigator.locks,
      after,
      elapsed: () => performance.now(),
      openChannel: (name) => new BroadcastChannel(name),
    },
  );
}

async function createHost(
  hosted: Omit<BrowserHostOptions, 'directory' | 'medium'>,
  { directory, medium: wanted, history, limits }: DirectoryOptions,
  after: After,
): Promise<ServedHost> {
  const running = await startBrowserHost({
    ...hosted,
    directory,
    medium: wanted,
    ...(history && { history }),
    ...(limits && { limits: { ...(hosted.limits ?? completeLimits()), ...limits } }),
  });
  const { lost, watch, medium } = running;
  // `Object.assign` keeps the getter `isQuiet`, which a spread would evaluate once.
  return { service: Object.assign(pageService(running, after), { lost, watch }), medium };
}

/**
 * Exercises the code paths of a takeover: writes and reads an object in memory, opens it again, and writes once more.
 *
 * Browsers compile WebAssembly functions and JavaScript when they first run. Without a rehearsal, compilation would take
 * about half of the time of a takeover.
 *
 * Invariant: its only lasting effect is compiled code. It uses no file, lock or timer. No assertion keeps this: no code
 * can see that it uses none.
 */
export async function rehearse(openDatabase: OpenDatabase): Promise<void> {
  const directory = new MemoryDirectory();
  await useOnce(openDatabase, directory);
  await useOnce(openDatabase, directory);
}

async function useOnce(openDatabase: OpenDatabase, directory: MemoryDirectory): Promise<void> {
  const environment = { now: () => Date.now(), randomUint32: () => 1 };
  const files = await ObjectFiles.open(directory, environment);
  const storage = new ObjectStorage(files, openDatabase, ALONE);
  storage.put([['key', new Uint8Array([0])]]);
  storage.get('key', (bytes) => bytes.length);
  await storage.durability();
  storage.sql.exec('CREATE TABLE IF NOT EXISTS rehearsal (id INTEGER PRIMARY KEY, value)');
  storage.sql.exec('INSERT INTO rehearsal (value) VALUES (?)', 'once').toArray();
  storage.sql.exec('SELECT id, value FROM rehearsal ORDER BY id').toArray();
  await storage.durability();
  await storage.close();
}

/** The environment of the rehearsed object, which has no host. */
const ALONE: StorageEnvironment = {
  now: () => Date.now(),
  nextTurn: (task) => queueMicrotask(task),
  section: async (closure) => closure(),
  continuation: () => (task) => task(),
  onBroken: () => {},
  onAlarm: () => {},
  checkAlarm: () => {},
  live: () => () => () => {},
};
