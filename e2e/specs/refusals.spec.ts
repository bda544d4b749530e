// Each call that the package makes of a browser, refused alone: a working storage, or an error with a code; never a hang.
//
// docs/guarantees.md has the same table.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from '../browsers/fixtures.ts';
import { ownOrigin } from '../browsers/own-origin.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { type StaticSite, serveStatic } from '../browsers/static-site.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { bundlePlugins } from '../package/bundle-plugins.ts';

const PAGE =
  '<!doctype html><title>app</title><script src="/refuse.js"></script><script type="module" src="/page.js"></script>';

let folder: string;
let site: StaticSite;

test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-refusals-'));
  const options = {
    bundle: true,
    target: 'es2022',
    logLevel: 'warning',
    absWorkingDir: REPOSITORY,
    outdir: folder,
  } as const;
  await build({
    ...options,
    splitting: true,
    format: 'esm',
    entryPoints: {
      page: 'e2e/specs/refusals/page.ts',
      objects: 'e2e/specs/refusals/worker.ts',
      worker: 'worker/start/entries/storage-worker.ts',
    },
    plugins: bundlePlugins,
  });
  await build({ ...options, format: 'iife', entryPoints: ['e2e/specs/refusals/refuse.ts'] });
  site = await serveStatic((path) => {
    if (path === '/') return PAGE;
    if (path === '/sqlite3.wasm') {
      return readFileSync(join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm'));
    }
    const [, name] = /^\/refusing-(\w+)\.js$/.exec(path) ?? [];
    if (name !== undefined) return `import '/refuse.js'; import '/${name}.js';`;
    return readFileSync(join(folder, path));
  });
});

test.afterAll(async () => {
  await site.close();
  rmSync(folder, { recursive: true, force: true });
});

type How = 'rejects' | 'throws' | 'fails' | 'missing';

interface Row {
  /** The name of the call in the documents. */
  readonly named: string;
  /** Where the browser has it, and how it is refused. */
  readonly call: string;
  readonly how: readonly How[];
  /** The outcomes for `openStorage`, for an early handle and for `connect`; one outcome if all three are equal. */
  readonly outcomes: readonly string[];
}

const LOCKS = 'LockManager.prototype';
const STORAGE = 'StorageManager.prototype';
const FOLDER = 'FileSystemDirectoryHandle.prototype';
const FILE = 'FileSystemFileHandle.prototype';
const HANDLE = 'FileSystemSyncAccessHandle.prototype';

const rejects = ['rejects'] as const;
const rejectsOrMissing = ['rejects', 'missing'] as const;
const onOpfs = ['stored on opfs'];
const onIndexedDb = ['stored on indexeddb'];
const refused = ['OPFS_UNAVAILABLE'];
const noWorker = ['WORKER_FAILED'];

const ROWS: readonly Row[] = [
  { named: 'locks.request', call: `${LOCKS}.request`, how: rejects, outcomes: refused },
  { named: 'locks.query', call: `${LOCKS}.query`, how: rejectsOrMissing, outcomes: onOpfs },
  { named: 'BroadcastChannel', call: 'BroadcastChannel', how: ['throws'], outcomes: refused },
  { named: 'Worker', call: 'Worker', how: ['throws'], outcomes: noWorker },
  { named: 'fetch', call: 'fetch', how: rejects, outcomes: noWorker },
  {
    named: 'WebAssembly.compileStreaming',
    call: 'WebAssembly.compileStreaming',
    how: rejectsOrMissing,
    outcomes: onOpfs,
  },
  { named: 'indexedDB.open', call: 'IDBFactory.prototype.open', how: ['fails'], outcomes: refused },
  { named: 'indexedDB.open', call: 'indexedDB', how: ['missing'], outcomes: refused },
  {
    named: 'storage.getDirectory',
    call: `${STORAGE}.getDirectory`,
    how: rejectsOrMissing,
    outcomes: onIndexedDb,
  },
  {
    named: 'getDirectoryHandle',
    call: `${FOLDER}.getDirectoryHandle`,
    how: rejects,
    outcomes: onIndexedDb,
  },
  { named: 'getFileHandle', call: `${FOLDER}.getFileHandle`, how: rejects, outcomes: onIndexedDb },
  { named: 'removeEntry', call: `${FOLDER}.removeEntry`, how: rejects, outcomes: onOpfs },
  {
    named: 'createSyncAccessHandle',
    call: `${FILE}.createSyncAccessHandle`,
    how: rejectsOrMissing,
    outcomes: onIndexedDb,
  },
  { named: 'write', call: `${HANDLE}.write`, how: ['fails'], outcomes: ['IO'] },
  { named: 'flush', call: `${HANDLE}.flush`, how: ['fails'], outcomes: ['IO'] },
  { named: 'storage.persist', call: `${STORAGE}.persist`, how: rejects, outcomes: onOpfs },
  { named: 'storage.persisted', call: `${STORAGE}.persisted`, how: rejects, outcomes: onOpfs },
  { named: 'storage.estimate', call: `${STORAGE}.estimate`, how: rejects, outcomes: onOpfs },
  {
    named: 'crypto.randomUUID',
    call: 'Crypto.prototype.randomUUID',
    how: ['fails'],
    outcomes: refused,
  },
  {
    named: 'crypto.subtle.digest',
    call: 'SubtleCrypto.prototype.digest',
    how: rejects,
    outcomes: refused,
  },
  {
    named: 'URL.createObjectURL',
    call: 'URL.createObjectURL',
    how: ['fails'],
    outcomes: ['OPFS_UNAVAILABLE', 'stored on opfs', 'stored on opfs'],
  },
  { named: 'XMLHttpRequest', call: 'XMLHttpRequest', how: ['throws'], outcomes: onOpfs },
];

/** A sample: one call of each outcome and of each interface of a browser. The other calls run before a release. */
const SAMPLE: readonly string[] = [
  `${LOCKS}.request`,
  'Worker',
  'WebAssembly.compileStreaming',
  'IDBFactory.prototype.open',
  `${STORAGE}.getDirectory`,
  `${FOLDER}.removeEntry`,
  `${FILE}.createSyncAccessHandle`,
  `${HANDLE}.flush`,
  'URL.createObjectURL',
];

for (const { named, call, how, outcomes } of ROWS) {
  for (const way of how) {
    test(`[START33] ${named} alone is refused: ${call} ${way}`, {
      tag: SAMPLE.includes(call) && way === how[0] ? LONG : [LONG, RELEASE],
    }, async ({ context }) => {
      const page = await context.newPage();
      await page.goto(`${ownOrigin(site).origin}/?call=${call}&how=${way}`);
      await page.waitForFunction(() => window.useEverything !== undefined);
      const expected = outcomes.length === 1 ? Array(3).fill(outcomes[0]) : outcomes;
      expect(await page.evaluate(() => window.useEverything())).toEqual(expected);
    });
  }
}

test('[START33] the documents have a line for each call', { tag: ONCE }, () => {
  const text = readFileSync(join(REPOSITORY, 'docs/guarantees.md'), 'utf8');
  const [, table] = text.split('\n## Calls of a browser\n');
  const documented = [...table!.matchAll(/^(`.*`) \|/gm)].flatMap(([, calls]) =>
    calls!.split(', ').map((call) => call.slice(1, -1)),
  );
  expect(new Set(documented)).toEqual(new Set(ROWS.map(({ named }) => named)));
});
