// What esbuild must be told to bundle this package: of sqlite-wasm what is not used is left out, and the
// worker and its WebAssembly lie beside the page's bundle.

import { readFileSync } from 'node:fs';
import type { Plugin } from 'esbuild';

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
  'spawn-worker.ts': ["'../../worker/entries/storage-worker.ts'", "'./worker.js'"],
  'wasm-url.ts': ["'../../worker/vfs/sqlite3.wasm'", "'./sqlite3.wasm'"],
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

export const bundlePlugins: Plugin[] = [withoutUnusedWorkers, flatAddresses];
