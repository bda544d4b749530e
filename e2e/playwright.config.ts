// End-to-end tests in real browsers: Chromium always, Firefox and WebKitGTK when they are installed. WebKitGTK has
// no synchronous access handles, and runs the tests of the fallback.
//
// Browsers and the server are started by the fixtures, which need profiles on disk and a free port.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from '@playwright/test';
import { getFirefox } from './browsers/browser.ts';
import { BUILDS } from './browsers/built-once.ts';
import { ONCE } from './browsers/tags.ts';
import { getWebKit } from './browsers/webkit.ts';

/** Processes are found by /proc; and a killed tab's process takes a whole Firefox session with it. */
const KILLS = ['**/crash.spec.ts'];
/**
 * Firefox has no way for a test to set an origin's quota, nor to run its collector. Its back/forward cache takes no page
 * that holds a Web Lock.
 */
const CHROMIUM_ONLY = [
  ...KILLS,
  '**/quota.spec.ts',
  '**/collector.spec.ts',
  '**/page-cache.spec.ts',
];

/** Tests of IndexedDB that need no more of a browser than tabs. */
const FALLBACK = '**/fallback*.spec.ts';

// Workers load this file too, and find it set.
if (process.env[BUILDS] === undefined) {
  const builds = mkdtempSync(join(tmpdir(), 'ctx-storage-builds-'));
  process.env[BUILDS] = builds;
  process.on('exit', () => rmSync(builds, { recursive: true, force: true }));
}

export default defineConfig({
  testDir: '.',
  testMatch: '**/*.spec.ts',
  // Each has browsers of its own. They often wait: for a browser that starts, for an alarm, for a lock.
  workers: 3,
  // Limits for tests that hang, never a measure of speed: the machine may be busy.
  timeout: 480_000,
  expect: { timeout: 60_000 },
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
          },
        ]
      : []),
  ],
});
