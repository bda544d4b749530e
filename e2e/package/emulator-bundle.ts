// How the emulator's package is bundled: its library for every runtime, and its parts for Node, which import
// `ctx-storage` as the package that is installed beside it.
//
// Invariant: nothing of the storage's engine is in it. The library needs only the interface of storage.

import { join } from 'node:path';
import type { BuildOptions, Plugin } from 'esbuild';
import { readSource } from '../suite/source-files.ts';
import { EMULATOR } from './entry-modules.ts';
import { bundled, forBrowsers } from './package-bundle.ts';

const { index, ...forNode } = EMULATOR.modules;

/** The code reads the package's name and version, and nothing else of the manifest. */
const nameAndVersion: Plugin = {
  name: 'name-and-version',
  setup(bundle) {
    bundle.onLoad({ filter: /[\\/]management[\\/]package\.json$/ }, () => {
      const { name, version } = JSON.parse(readSource(join(EMULATOR.folder, 'package.json')));
      return { contents: JSON.stringify({ name, version }), loader: 'json' };
    });
  },
};

const plugins = [nameAndVersion, ...bundled.plugins];

/** The options of each bundle of the emulator. */
export const EMULATOR_BUNDLES: readonly BuildOptions[] = [
  { ...forBrowsers, plugins, entryPoints: { index: index! } },
  {
    ...bundled,
    plugins,
    platform: 'node',
    target: 'node20',
    external: ['ctx-storage', '@playwright/test'],
    splitting: true,
    entryPoints: { ...forNode, cli: 'packages/management/cli/node-main.ts' },
  },
];
