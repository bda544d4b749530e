// The emulator's package: its manifest, and the files that its bundles are made of.

import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { listFiles, readSource } from '../suite/source-files.ts';
import { EMULATOR_BUNDLES } from './emulator-bundle.ts';
import { EMULATOR, manifestOf, STORAGE } from './entry-modules.ts';

const emulator = manifestOf(EMULATOR);

/** Files that may be in the emulator: its own, the interface of storage, and the library that checks values. */
const OWN =
  /^(?:packages\/(?:management|command-line)|src\/(?:doors|shared\/contract)|node_modules\/valibot)\//;

test('[PKG25] the emulator depends on exactly this version of ctx-storage, and on nothing else', () => {
  const { name, version } = manifestOf(STORAGE);
  expect(emulator.version).toBe(version);
  expect(emulator.dependencies).toEqual({ [name]: version });
});

test('[PKG25] nothing of the engine is in the emulator: the library imports nothing, the parts for Node ctx-storage', async () => {
  const imported: Record<string, string[]> = {};
  for (const options of EMULATOR_BUNDLES) {
    const { metafile } = await build({
      ...options,
      outdir: 'unused',
      write: false,
      metafile: true,
    });
    expect(Object.keys(metafile!.inputs).filter((file) => !OWN.test(file))).toEqual([]);
    for (const [file, { imports, entryPoint }] of Object.entries(metafile!.outputs)) {
      const packages = imports.filter(
        ({ path, external }) => external && !path.startsWith('node:'),
      );
      if (entryPoint !== undefined || packages.length > 0) {
        imported[file.replace(/^unused\/|-[0-9A-Z]{8}(?=\.js$)/g, '')] = packages.map(
          ({ path }) => path,
        );
      }
    }
  }
  expect(imported['index.js']).toEqual([]);
  expect(imported['node.js']).toEqual([]);
  const ofNode = new Set(Object.values(imported).flat());
  expect([...ofNode].sort()).toEqual(['@playwright/test', 'ctx-storage/node']);
});

test("[PKG25] the documents and the examples name the emulator's package as its manifest does", () => {
  const naming = [
    'docs/management.md',
    'docs/testing.md',
    'docs/examples/api-client/package.json',
    'docs/examples/api-client/README.md',
    'e2e/package/example-rig/tests/around.e2e.ts',
  ];
  expect(naming.filter((file) => !readSource(file).includes(emulator.name))).toEqual([]);
  const others = [...listFiles(['docs'], /\.(md|ts|json)$/), 'README.md'].filter(
    (file) => file !== 'docs/spec.md',
  );
  const former = /ctx-storage\/management|ctx-storage (?:management|deprecations)/;
  expect(others.filter((file) => former.test(readSource(file)))).toEqual([]);
});
