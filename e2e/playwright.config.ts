// End-to-end tests in real browsers: Chromium always, Firefox and WebKitGTK when they are installed. WebKitGTK has
// no synchronous access handles, and runs what the fallback must do.
//
// Browsers and the server are started by the fixtures, which need profiles on disk and a free port.

import { defineConfig } from '@playwright/test';
import { getFirefox } from './browsers/browser.ts';
import { ONCE } from './browsers/tags.ts';
import { getWebKit } from './browsers/webkit.ts';

/** Processes are found by /proc; and a killed tab's process takes a whole Firefox session with it. */
const KILLS = ['**/crash.spec.ts'];
/** Firefox has no way for a test to set an origin's quota, nor to run its collector. */
const CHROMIUM_ONLY = [...KILLS, '**/quota.spec.ts', '**/collector.spec.ts'];

/** What must hold on IndexedDB, in tests that need no more of a browser than tabs. */
const FALLBACK = '**/fallback*.spec.ts';

export default defineConfig({
  testDir: '.',
  testMatch: '**/*.spec.ts',
  // Each has browsers of its own. More would only wait for each other, and for their own bounds.
  workers: 2,
  timeout: 120_000,
  // Bounds for what hangs, never a measure of speed: the machine may be busy.
  expect: { timeout: 20_000 },
  // When nothing works, every test waits for its own end; that must not take all day.
  globalTimeout: 60 * 60_000,
  forbidOnly: true,
  reporter: 'list',
  projects: [
    {
      name: 'chromium',
      outputDir: '../test-results/chromium',
      use: { browserName: 'chromium' },
      testIgnore: process.platform === 'linux' ? [] : KILLS,
    },
    ...(getFirefox()
      ? [
          {
            name: 'firefox',
            outputDir: '../test-results/firefox',
            use: { browserName: 'firefox' as const },
            testIgnore: CHROMIUM_ONLY,
            grepInvert: new RegExp(ONCE),
            timeout: 120_000,
          },
        ]
      : []),
    ...(getWebKit() !== null
      ? [
          {
            name: 'webkitgtk',
            outputDir: '../test-results/webkitgtk',
            use: { browserName: 'webkit' as const },
            testMatch: FALLBACK,
            timeout: 120_000,
          },
        ]
      : []),
  ],
});
