// Builds the npm packages: into dist/ `ctx-storage`, a page entry, a self-contained worker, its WebAssembly, types; into
// packages/management/dist the emulator, which depends on it.
//
// The form every bundler accepts, and none needs: `dist/index.js` keeps the literal
// `new Worker(new URL('./worker.js', import.meta.url), …)`, so a bundler finds the worker, and a
// page without one loads it as it is. Checked by e2e/specs/package.spec.ts.
//
// Source maps are left out: they were two thirds of the package, and name no file of it.

import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import { effectsApart } from './bundle-plugins.ts';
import { EMULATOR_BUNDLES } from './emulator-bundle.ts';
import { EMULATOR, entryModules, PUBLISHED } from './entry-modules.ts';
import { lateAsset, leaveAtSymbol } from './late-asset.ts';
import { Licences } from './licences.ts';
import { minifyAgain } from './minify-again.ts';
import { bundled, forBrowsers } from './package-bundle.ts';
import { writeTypes } from './package-types.ts';
import { closedRooms } from './rooms.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

const emulator = join(EMULATOR.folder, 'dist');
for (const folder of ['dist', emulator]) rmSync(folder, { recursive: true, force: true });
const licences = new Licences();
async function bundle(
  options: BuildOptions,
  finish = async (_file: string) => {},
  outdir = 'dist',
  noted = licences,
): Promise<void> {
  const plugins = [closedRooms(REPOSITORY), ...(options.plugins ?? [])];
  const { metafile } = await build({ ...options, plugins, outdir, metafile: true });
  for (const output of Object.keys(metafile!.outputs)) {
    await finish(output);
    keepAddresses(output);
  }
  for (const input of Object.keys(metafile!.inputs)) noted.add(input);
}

// The parts that a worker loads when they are needed; the files that load them know its content.
await bundle(
  { ...forBrowsers, entryPoints: { late: 'worker/engine/storage/late-parts.ts' } },
  minifyAgain,
);
const late = lateAsset(leaveAtSymbol('dist/late.js'));
const forWorkers = { ...forBrowsers, plugins: [late, ...forBrowsers.plugins] };

// The page's client is loaded with the first call, and `openStorage`, whose worker a bundler emits, lies in a
// module that `connect` does not need.
await bundle(
  {
    ...forBrowsers,
    splitting: true,
    // The inspector is in the same build because it shares their modules for handles and signals.
    entryPoints: {
      ...entryModules('index', 'connect', 'follow', 'inspector', 'source'),
      'dev-inspector': 'packages/inspector/dev-page.ts',
    },
  },
  minifyAgain,
);
await bundle(
  {
    ...forWorkers,
    entryPoints: {
      worker: 'worker/start/entries/storage-worker.ts',
      'source-worker': 'packages/entries/source-worker.ts',
    },
  },
  minifyAgain,
);
await bundle({
  ...forBrowsers,
  entryPoints: { 'answer-starts': 'worker/start/entries/answer-starts.ts' },
});
// Base classes and their host are one module each, whichever entries a program takes them from.
await bundle({
  ...forWorkers,
  plugins: [effectsApart, ...forWorkers.plugins],
  splitting: true,
  entryPoints: {
    ...entryModules('objects', 'in-process', 'migrate', 'history', 'socket', 'undo'),
    ...entryModules('bindings', 'async-hooks', 'cloudflare-email', 'diagnostics-channel'),
    ...entryModules('html-rewriter', 'followable', 'worker-follow', 'draft'),
    // Entries of their own, so that a bundler takes only the files that are used.
    serve: 'worker/start/entries/serve.ts',
    'base-classes': 'worker/realm/library/base-classes.ts',
    'rpc-stub': 'worker/realm/library/rpc-stub.ts',
    'running-object': 'worker/realm/library/running-object.ts',
    'rpc-target': 'src/shared/contract/rpc-target.ts',
  },
});
// The libraries are the app's own; imports from the page's entry are types.
await bundle({
  ...forBrowsers,
  external: ['drizzle-orm', 'kysely', 'react', 'solid-js', 'svelte', 'vue'],
  entryPoints: entryModules('drizzle', 'kysely', 'react', 'solid', 'svelte', 'vue'),
});
// The helper page of tests, and its worker.
await bundle({
  ...forWorkers,
  entryPoints: {
    'playwright-helper': 'packages/testing/playwright/page/helper.ts',
    'playwright-worker': 'worker/start/entries/unhosted-worker.ts',
  },
});
// This bundle is for tests. Its functions run in pages as their text, in which a helper of the bundler would be
// missing.
await bundle({
  ...bundled,
  platform: 'node',
  target: 'node20',
  external: ['@playwright/test'],
  mainFields: ['module', 'main'],
  entryPoints: entryModules('playwright'),
});
// For Node: peers are the project's own.
await bundle({
  ...bundled,
  platform: 'node',
  target: 'node20',
  external: ['vite', 'esbuild', 'miniflare', 'ws'],
  mainFields: ['module', 'main'],
  splitting: true,
  entryPoints: {
    ...entryModules('node', 'simulate', 'vite', 'vitest', 'cloudflare-test'),
    'node-library': 'worker/start/entries/node-library.ts',
    // This bundle shares the base classes and `env` of node-library.
    'node-in-process': 'packages/entries/in-process.ts',
    cli: 'packages/cli/node-main.ts',
  },
});
writeFileSync('dist/licences.txt', licences.text());
copyFileSync('worker/engine/vfs/sqlite3.wasm', 'dist/sqlite3.wasm');
copyFileSync('packages/vite/client.d.ts', 'dist/vite-client.d.ts');
copyFileSync('packages/workers/vitest/client.d.ts', 'dist/vitest-client.d.ts');
const emulatorLicences = new Licences([]);
for (const options of EMULATOR_BUNDLES) {
  await bundle(options, undefined, emulator, emulatorLicences);
}
writeFileSync(join(emulator, 'licences.txt'), emulatorLicences.text());
await writeTypes(PUBLISHED);
console.log(`dist/ and ${emulator}/ are built`);

/**
 * Imports of addresses that are known only at run time stay imports for the bundlers of the package's users.
 * Minifying removes the comments that request it.
 */
function keepAddresses(file: string): void {
  if (!file.endsWith('.js')) return;
  const text = readFileSync(file, 'utf8');
  const kept = text.replaceAll(
    /\bimport\(([\w$]+)\)/g,
    'import(/* webpackIgnore: true */ /* @vite-ignore */ $1)',
  );
  if (kept !== text) writeFileSync(file, kept);
}
