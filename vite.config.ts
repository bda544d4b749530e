// Serves the demo in development and builds it; runs the unit tests in Node.
//
// Keeps true: the page needs no special headers (no cross-origin isolation), and the worker is an
// ES module. sqlite-wasm is not pre-bundled: its dependency scan would break the wasm's address.

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { offline } from './demo/offline/offline-plugin.ts';
import { playgroundSandbox } from './demo/sandbox/sandbox-plugin.ts';
import { ctxStorage } from './src/vite/plugin.ts';

// Absolute: the demo and the tests have different roots.
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: 'demo',
  base: './',
  plugins: [
    ctxStorage({
      config: file('demo/objects/wrangler.jsonc'),
      workerEntry: file('worker/entries/objects.ts'),
    }),
    playgroundSandbox(),
    offline(),
  ],
  optimizeDeps: { exclude: ['@sqlite.org/sqlite-wasm'] },
  build: {
    outDir: '../dist/demo',
    emptyOutDir: true,
    target: 'es2023',
    rollupOptions: { input: ['index', 'notes', 'api'].map((name) => file(`demo/${name}.html`)) },
  },
  test: {
    root: '.',
    include: ['src/**/*.test.ts', 'worker/**/*.test.ts', 'e2e/**/*.test.ts'],
    environment: 'node',
    // By default one less, which on two cores is one.
    maxWorkers: availableParallelism(),
    // A bound for what hangs, never a measure of speed: the machine may be busy.
    testTimeout: 30_000,
    setupFiles: [file('e2e/suite/unit-setup.ts')],
  },
});
