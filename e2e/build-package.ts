// Builds the npm package into dist/: a page entry, a self-contained worker, its WebAssembly, types.
//
// The form every bundler accepts, and none needs: `dist/index.js` keeps the literal
// `new Worker(new URL('./worker.js', import.meta.url), …)`, so a bundler finds the worker, and a
// page without one loads it as it is. Checked by e2e/package.spec.ts.

import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { type BuildOptions, build, type Plugin } from 'esbuild';

// sqlite-wasm can start workers of its own, for interfaces that are not used here. Bundlers would
// follow their addresses to files that a bundle does not have.
const UNUSED_WORKERS = [
  'new Worker(new URL("sqlite3-worker1.mjs", import.meta.url), { type: "module" })',
  'new URL("sqlite3-opfs-async-proxy.js", import.meta.url)',
];

const withoutUnusedWorkers: Plugin = {
  name: 'without-unused-sqlite-workers',
  setup(bundle) {
    bundle.onLoad({ filter: /sqlite-wasm[\\/]dist[\\/]index\.mjs$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8');
      for (const expression of UNUSED_WORKERS) {
        if (!contents.includes(expression)) {
          throw new Error(`sqlite-wasm changed: not found: ${expression}`);
        }
        contents = contents.replace(expression, '(() => { throw new Error("not bundled"); })()');
      }
      return { contents, loader: 'js' };
    });
  },
};

// In the sources the worker and its WebAssembly lie in their folders; in the package, beside it.
const ADDRESSES: Readonly<Record<string, readonly [string, string]>> = {
  'spawn-worker.ts': ["'../../worker/index.ts'", "'./worker.js'"],
  'wasm-url.ts': ["'./vfs/sqlite3.wasm'", "'./sqlite3.wasm'"],
};

const flatAddresses: Plugin = {
  name: 'flat-addresses',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/](spawn-worker|wasm-url)\.ts$/ }, ({ path }) => {
      const [from, to] = ADDRESSES[path.split(/[\\/]/).at(-1)!]!;
      const source = readFileSync(path, 'utf8');
      if (!source.includes(from)) throw new Error(`${path}: ${from} was not found`);
      return { contents: source.replace(from, to), loader: 'ts' };
    });
  },
};

rmSync('dist', { recursive: true, force: true });
const shared = {
  bundle: true,
  format: 'esm' as const,
  target: 'es2022',
  outdir: 'dist',
  sourcemap: true,
  logLevel: 'warning' as const,
  plugins: [withoutUnusedWorkers, flatAddresses],
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
