// Settings that esbuild needs to bundle this package: the worker and its WebAssembly are next to the
// page's bundle, and names that programs see are kept.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'esbuild';
import { keptNames } from './kept-names.ts';
import { roomDoors } from './rooms.ts';

// In the sources the worker and its WebAssembly lie in their folders; in the package, beside it.
const ADDRESSES: Readonly<Record<string, readonly [string, string]>> = {
  'spawn-worker.ts': ["'../../../worker/start/entries/storage-worker.ts'", "'./worker.js'"],
  'spawn-source-worker.ts': ["'./source-worker.ts'", "'./source-worker.js'"],
  'wasm-url.ts': ["'../../../worker/engine/vfs/sqlite3.wasm'", "'./sqlite3.wasm'"],
};

const flatAddresses: Plugin = {
  name: 'flat-addresses',
  setup(bundle) {
    bundle.onLoad(
      { filter: /[\\/](spawn-worker|spawn-source-worker|wasm-url)\.ts$/ },
      ({ path }) => {
        const [from, to] = ADDRESSES[path.split(/[\\/]/).at(-1)!]!;
        const source = readFileSync(path, 'utf8');
        if (!source.includes(from)) throw new Error(`${path}: ${from} was not found`);
        return { contents: source.replace(from, to), loader: 'ts' };
      },
    );
  },
};

// The meaning of a code is for readers of the source and the documents.
const withoutMeanings: Plugin = {
  name: 'without-meanings',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]contract[\\/]errors\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      const contents = source.replaceAll(/\bmeaning:\s*(?:'[^'\n]*'|"[^"\n]*"),?/g, '');
      if (contents.length > source.length * 0.7) throw new Error(`${path}: has no meanings`);
      return { contents, loader: 'ts' };
    });
  },
};

const EFFECTS = /\.[\\/]answer-starts\.ts$/;

/** Leaves a module that is imported for its effect out of the bundle, as a file beside it, which the manifest names. */
export const effectsApart: Plugin = {
  name: 'effects-apart',
  setup(bundle) {
    bundle.onResolve({ filter: EFFECTS }, () => ({
      path: './answer-starts.js',
      external: true,
      sideEffects: true,
    }));
  },
};

const ROOT = join(import.meta.dirname, '../..');

export const bundlePlugins: Plugin[] = [roomDoors(ROOT), flatAddresses, keptNames, withoutMeanings];
