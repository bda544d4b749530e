// Builds the npm package into dist/: a page entry, a self-contained worker, its WebAssembly, types.
//
// The form every bundler accepts, and none needs: `dist/index.js` keeps the literal
// `new Worker(new URL('./worker.js', import.meta.url), …)`, so a bundler finds the worker, and a
// page without one loads it as it is. Checked by e2e/specs/package.spec.ts.

import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { build } from 'esbuild';
import { bundled, forBrowsers } from './package-bundle.ts';

rmSync('dist', { recursive: true, force: true });
const outdir = 'dist';
await build({
  ...forBrowsers,
  outdir,
  entryPoints: { index: 'src/index.ts', worker: 'worker/entries/storage-worker.ts' },
});
// Base classes and their host are one module each, whichever entries a program takes them from.
await build({
  ...forBrowsers,
  outdir,
  splitting: true,
  entryPoints: {
    objects: 'worker/entries/objects.ts',
    'in-process': 'worker/entries/in-process.ts',
    management: 'src/management/index.ts',
    migrate: 'src/migrate/migrate.ts',
    'async-hooks': 'worker/modules/async-hooks.ts',
    'cloudflare-email': 'worker/modules/cloudflare-email.ts',
    'diagnostics-channel': 'worker/modules/diagnostics-channel.ts',
  },
});
// React is the app's own; what is imported from the page's entry are types.
await build({
  ...forBrowsers,
  outdir,
  external: ['react'],
  entryPoints: { react: 'src/react/index.ts' },
});
// For Node: libraries are installed beside the package.
await build({
  ...bundled,
  outdir,
  platform: 'node',
  target: 'node20',
  packages: 'external',
  splitting: true,
  entryPoints: {
    node: 'worker/entries/node-objects.ts',
    'node-library': 'worker/entries/node-library.ts',
    'management-node': 'src/management/adapters/node-server.ts',
    vite: 'src/vite/plugin.ts',
    cli: 'src/cli/node-main.ts',
  },
});
copyFileSync('worker/vfs/sqlite3.wasm', 'dist/sqlite3.wasm');
copyFileSync('src/vite/client.d.ts', 'dist/vite-client.d.ts');
execFileSync('npx', ['tsc', '-p', 'e2e/package/types'], { stdio: 'inherit' });
console.log('dist/ is built');
