// Serves the demo in development and builds it; runs the unit tests in Node.
//
// Keeps true: the page needs no special headers (no cross-origin isolation), and the worker is an
// ES module. sqlite-wasm is not pre-bundled: its dependency scan would break the wasm's address.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { tsImport } from 'tsx/esm/api';
import type { Plugin } from 'vite';
import { configDefaults, defineConfig } from 'vitest/config';
import { firstLoad } from './demo/offline/first-load-plugin.ts';
import { offline } from './demo/offline/offline-plugin.ts';
import { playgroundSandbox } from './demo/sandbox/sandbox-plugin.ts';
import { type SiteManifest, siteNames } from './demo/ui/site-names.ts';
import { MODULE_ALIASES } from './e2e/browsers/module-aliases.ts';
import { Licences } from './e2e/package/licences.ts';
import { requireWasm } from './e2e/suite/required-wasm.ts';
import { NEWEST } from './e2e/workerd/versions.ts';

requireWasm();

// Vite bundles this file but not what it imports by name, and Node loads no TypeScript.
const { ctxStorage } = (await tsImport(
  './packages/vite/plugin.ts',
  import.meta.url,
)) as typeof import('./packages/vite/plugin.ts');

// Absolute: the demo and the tests have different roots.
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Most unit tests share a process with others: loading the same modules anew for every file took a third of the time. */
const UNIT_TESTS = [
  ...['src/**/*.test.ts', 'worker/**/*.test.ts'],
  ...['packages/**/*.test.ts', 'e2e/**/*.test.ts'],
];

/**
 * Tests of what a process has once: its collector; globals that are replaced for good, as by a document; a library that looks for one when it is loaded.
 */
const ISOLATED = [
  'src/shared/values/long-strings.test.ts',
  'packages/adapters/react/*.test.ts',
  'packages/adapters/solid/*.test.ts',
  'packages/adapters/svelte/*.test.ts',
  'packages/adapters/vue/*.test.ts',
  'e2e/workerd/differential/surface.test.ts',
  'worker/engine/sql/cancelled-query.test.ts',
  'worker/engine/vfs/sqlite-module.test.ts',
  'worker/engine/vfs/wasm-memory.test.ts',
];

/** Tests of the packed package that open no page. */
const PACKED = ['e2e/packed/*.test.ts'];
const PACKED_SETUP = [file('e2e/packed/setup.ts')];

/** A bound for what hangs, never a measure of speed: the machine may be busy. No test needs one of its own. */
const LAST_STOP_MS = 300_000;

/** Tests that take minutes, which `npm test` leaves for the rest. */
const LONG = ['**/*.long.test.ts'];

/** The tags of single tests. */
const TAGS = [
  { name: 'long', description: 'About a second or more: `npm test` leaves it for the rest.' },
  {
    name: 'release',
    description:
      'In a file of long tests: repeats another, or its subject seldom changes. `npm run test:release` runs it.',
  },
];

/**
 * Dependencies of the demo's pages and workers. Vite finds those of workers, and of modules loaded late, only when
 * they are asked for; it then bundles all anew, and reloads the page.
 */
const DEPENDENCIES = [
  '@codemirror/autocomplete',
  '@codemirror/commands',
  '@codemirror/lang-javascript',
  '@codemirror/language',
  '@codemirror/lint',
  '@codemirror/state',
  '@codemirror/view',
  '@lezer/highlight',
  '@noble/hashes/hmac.js',
  '@noble/hashes/sha2.js',
  '@noble/hashes/utils.js',
  '@preact/signals',
  'comlink',
  'es-module-lexer/minimal',
  'idb',
  'papaparse',
  'preact',
  'preact/hooks',
  'preact/jsx-dev-runtime',
  'preact/jsx-runtime',
  'sucrase',
  'typescript-6',
  'valibot',
];

/**
 * Vite's client, which modules with `import()` load in workers too, writes to the console as it was when the client was
 * loaded. The playground shows what is written to the console later, when it runs the visitor's code.
 */
const ownConsole: Plugin = {
  name: 'own-console',
  apply: 'serve',
  transform: {
    filter: { id: /\/vite\/dist\/client\/client\.mjs$/ },
    handler: (code) => ({ code: `const console = { ...globalThis.console };${code}`, map: null }),
  },
};

/** Of data, and of the standards whose texts TypeScript's declarations repeat. */
const FURTHER_LICENCES = [
  'demo/data/LICENSE-unicode.txt',
  'node_modules/typescript-6/ThirdPartyNoticeText.txt',
];

const licences = new Licences();
const bundled = (path: string) => licences.add(path);

export default defineConfig({
  root: 'demo',
  base: './',
  resolve: { alias: MODULE_ALIASES },
  plugins: [
    // For tests, which import `cloudflare:workers`.
    ctxStorage({ config: false, workerEntry: file('worker/start/entries/objects.ts') }),
    siteNames(JSON.parse(readFileSync(file('package.json'), 'utf8')) as SiteManifest),
    ownConsole,
    playgroundSandbox(bundled),
    firstLoad(),
    offline(bundled),
    licences.collector(),
    licences.writer(FURTHER_LICENCES.map((path) => readFileSync(file(path), 'utf8'))),
  ],
  worker: { plugins: () => [licences.collector()] },
  optimizeDeps: { exclude: ['@sqlite.org/sqlite-wasm'], include: DEPENDENCIES },
  build: {
    outDir: '../dist/demo',
    emptyOutDir: true,
    target: 'es2023',
    rollupOptions: {
      input: ['index', 'notes', 'devices', 'api', 'bench'].map((name) => file(`demo/${name}.html`)),
    },
  },
  test: {
    root: '.',
    environment: 'node',
    tags: TAGS,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNIT_TESTS,
          exclude: [...configDefaults.exclude, ...ISOLATED, ...PACKED, ...LONG],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
      {
        extends: true,
        test: {
          name: 'packed',
          include: PACKED,
          exclude: LONG,
          globalSetup: PACKED_SETUP,
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: LONG,
          globalSetup: PACKED_SETUP,
          isolate: false,
          // They import `cloudflare:workers`, which the plugin resolves.
          server: { deps: { inline: [/@cloudflare\/actors/, /partyserver/] } },
        },
      },
      {
        extends: true,
        test: {
          name: 'newest workerd',
          include: ['e2e/workerd/differential/*.test.ts'],
          env: { MINIFLARE_WORKERD_PATH: NEWEST },
        },
      },
    ],
    // Some tests wait for turns, timers and other processes: one more than there are cores keeps these busy.
    maxWorkers: availableParallelism() + 1,
    testTimeout: LAST_STOP_MS,
    hookTimeout: LAST_STOP_MS,
    expect: { poll: { timeout: LAST_STOP_MS, interval: 5 } },
    setupFiles: [file('e2e/suite/unit-setup.ts')],
  },
});
