// Builds the npm package into dist/: a page entry, a self-contained worker, its WebAssembly, types.
//
// The form every bundler accepts, and none needs: `dist/index.js` keeps the literal
// `new Worker(new URL('./worker.js', import.meta.url), …)`, so a bundler finds the worker, and a
// page without one loads it as it is. Checked by e2e/package.spec.ts.

import { execFileSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { type BuildOptions, build } from 'esbuild';
import { bundlePlugins } from './bundle-plugins.ts';

rmSync('dist', { recursive: true, force: true });
const shared = {
  bundle: true,
  format: 'esm' as const,
  target: 'es2022',
  outdir: 'dist',
  sourcemap: true,
  logLevel: 'warning' as const,
  plugins: bundlePlugins,
} satisfies BuildOptions;
// For browsers: with all they need, so that a page without a bundler can load them.
await build({
  ...shared,
  minify: true,
  entryPoints: { index: 'src/index.ts', worker: 'worker/index.ts' },
});
// Base classes and their host are one module each, whichever entries a program takes them from.
await build({
  ...shared,
  minify: true,
  splitting: true,
  entryPoints: {
    objects: 'worker/objects.ts',
    'in-process': 'worker/in-process.ts',
    management: 'src/management/index.ts',
  },
});
// For Node: libraries are installed beside the package.
await build({
  ...shared,
  platform: 'node',
  target: 'node20',
  packages: 'external',
  keepNames: true, // for those who print what they hold
  splitting: true,
  entryPoints: {
    node: 'worker/node-objects.ts',
    'node-library': 'worker/node-library.ts',
    'management-node': 'src/management/adapters/node-server.ts',
    vite: 'src/vite/plugin.ts',
    cli: 'src/cli/node-main.ts',
  },
});
copyFileSync('worker/vfs/sqlite3.wasm', 'dist/sqlite3.wasm');
copyFileSync('src/vite/client.d.ts', 'dist/vite-client.d.ts');
execFileSync('npx', ['tsc', '-p', 'e2e/package-types'], { stdio: 'inherit' });
console.log('dist/ is built');
