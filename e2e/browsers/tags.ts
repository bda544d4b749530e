// Tags of tests that not every run needs in every browser.

/**
 * A test whose result no browser changes: bundles, sizes, types, reports, the accessibility of markup. It runs in
 * Chromium only.
 */
export const ONCE = '@once';

/**
 * A test that takes seconds of a processor, and beside which a shorter one meets the same part of a browser. `npm test`
 * runs it in its first browser only, `npm run e2e` in each.
 */
export const LONG = '@long';
