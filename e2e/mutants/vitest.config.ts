// The unit tests of one slice, for the mutation run. Slow mutants must not fail by the clock alone,
// so a test may take longer here than elsewhere.

import { defineConfig } from 'vitest/config';

const tests = process.env.MUTANT_TESTS;
if (tests === undefined) throw new Error('Started by `npm run mutants`, which says what to run.');

export default defineConfig({
  test: {
    include: tests.split('\n'),
    setupFiles: [],
    environment: 'node',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
