// All test files of a slice, and the sources they use, in one module that can be imported again.
//
// Each import evaluates all modules again, as a new process would, in less time.
// Properties of fast-check run with fewer inputs and a fixed seed: many mutants, one verdict each.

import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { roomDoors } from '../../package/rooms.ts';

const PROPERTY_RUNS = 25;

/** Where the bundle finds the functions in place of Vitest's. */
export const FUNCTIONS = 'mutantTestFunctions';

const VITEST = `
const given = globalThis.${FUNCTIONS};
export const { test, describe, beforeAll, beforeEach, afterEach, afterAll, onTestFinished, expect, expectTypeOf, vi } = given;
`;

const FAST_CHECK = `
import real from 'real:fast-check';
const bound = (options) => ({
  seed: 20261122,
  ...options,
  numRuns: Math.min(options?.numRuns ?? 100, ${PROPERTY_RUNS}),
});
export default { ...real, assert: (property, options) => real.assert(property, bound(options)) };
`;

/** Writes the bundle of `files` to `target`; its default export maps each file to its import. */
export async function writeBundle(files: readonly string[], target: string): Promise<void> {
  const imports = files.map(
    (file) => `${JSON.stringify(file)}: () => import(${JSON.stringify(file)})`,
  );
  await build({
    stdin: { contents: `export default {${imports.join(',')}};`, resolveDir: process.cwd() },
    outfile: target,
    bundle: true,
    // Two files may have a class of one name, and messages name classes.
    keepNames: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    external: ['*.wasm'],
    logLevel: 'error',
    plugins: [roomDoors(process.cwd()), replaced],
  });
}

const replaced: Plugin = {
  name: 'replaced',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(vitest|fast-check)$/ }, ({ path }) => ({ path, namespace: 'replaced' }));
    onResolve({ filter: /^real:/ }, ({ path }) => ({ path: path.slice(5), external: true }));
    onLoad({ filter: /.*/, namespace: 'replaced' }, ({ path }) => ({
      contents: path === 'vitest' ? VITEST : FAST_CHECK,
    }));
    // Each source still knows its own place. Names, not texts, take the place: it may be inside of a text.
    onLoad({ filter: /\/(src|worker|e2e)\/.*\.tsx?$/ }, async ({ path }) => ({
      contents:
        `var ownUrl = ${JSON.stringify(pathToFileURL(path).href)}, ownFolder = ${JSON.stringify(dirname(path))}; ` +
        (await readFile(path, 'utf8'))
          .replaceAll('import.meta.url', 'ownUrl')
          .replaceAll('import.meta.dirname', 'ownFolder'),
      loader: path.endsWith('x') ? 'tsx' : 'ts',
    }));
  },
};
