// Tags of tests that not every run needs in every browser.

/**
 * A test whose result no browser changes: bundles, sizes, types, reports, the accessibility of markup. It runs in
 * Chromium only.
 */
export const ONCE = '@once';

/**
 * A test of a few seconds whose feature another test of `npm test` meets, too. `npm test` leaves it for the rest, which runs
 * it in Chromium; `npm run test:release` runs it in Firefox, too.
 */
export const REST = '@rest';

/**
 * A test that takes many seconds, and beside which a shorter one meets the same part of a browser. `npm test` leaves it
 * for the rest, which runs it in Chromium; `npm run test:release` runs it in Firefox, `npm run e2e` in each browser.
 */
export const LONG = '@long';

/**
 * A `LONG` or `REST` test that repeats another one with another framework, medium, size, colour or example, or one of Node
 * in a browser, or whose subject seldom changes. It runs before a release only, by `npm run test:release`.
 */
export const RELEASE = '@release';
