// Serves the demo in development and builds it; runs the unit tests in Node.
//
// Keeps true: the page needs no special headers (no cross-origin isolation), and the worker is an
// ES module. sqlite-wasm is not pre-bundled: its dependency scan would break the wasm's address.

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { firstLoad } from './demo/offline/first-load-plugin.ts';
import { offline } from './demo/offline/offline-plugin.ts';
import { playgroundSandbox } from './demo/sandbox/sandbox-plugin.ts';
import { ctxStorage } from './src/vite/plugin.ts';

// Absolute: the demo and the tests have different roots.
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Most unit tests share a process with others: loading the same modules anew for every file took a third of the time. */
const UNIT_TESTS = ['src/**/*.test.ts', 'worker/**/*.test.ts', 'e2e/**/*.test.ts'];

/**
 * Tests of what a process has once: its channels, on which the tabs of one file would hear those of another; its
 * collector; globals that are replaced for good.
 */
const ISOLATED = [
  'src/client/*.test.ts',
  'src/rpc/*.test.ts',
  'src/serializer/long-strings.test.ts',
  'worker/boot/*.test.ts',
  'e2e/differential/surface.test.ts',
  'worker/sql/cancelled-query.test.ts',
  'worker/vfs/sqlite-module.test.ts',
  'worker/vfs/wasm-memory.test.ts',
];

export default defineConfig({
  root: 'demo',
  base: './',
  plugins: [
    ctxStorage({
      config: file('demo/objects/wrangler.jsonc'),
      workerEntry: file('worker/entries/objects.ts'),
      // No page starts them at once.
      preload: false,
    }),
    playgroundSandbox(),
    firstLoad(),
    offline(),
  ],
  optimizeDeps: { exclude: ['@sqlite.org/sqlite-wasm'] },
  build: {
    outDir: '../dist/demo',
    emptyOutDir: true,
    target: 'es2023',
    rollupOptions: {
      input: ['index', 'notes', 'api', 'bench'].map((name) => file(`demo/${name}.html`)),
    },
  },
  test: {
    root: '.',
    environment: 'node',
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: UNIT_TESTS,
          exclude: [...configDefaults.exclude, ...ISOLATED],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'isolated', include: ISOLATED } },
    ],
    // By default one less, which on two cores is one.
    maxWorkers: availableParallelism(),
    // A bound for what hangs, never a measure of speed: the machine may be busy.
    testTimeout: 30_000,
    setupFiles: [file('e2e/suite/unit-setup.ts')],
  },
});
