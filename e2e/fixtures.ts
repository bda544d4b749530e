// What end-to-end tests start from: the repository served on a free port, and a browser with a
// profile of its own on disk.

import { test as base, type Page } from '@playwright/test';
import { openBlank } from './blank-page.ts';
import { type BrowserName, requireBrowser } from './browser.ts';
import { Profile } from './profile.ts';
import { startServer, type TestServer } from './server.ts';

interface Fixtures {
  /** A browser not yet started, whose profile outlives it and ends with the test. */
  readonly profile: Profile;
  /**
   * A blank page with `window.api`, in a browser that other tests use as well, one after the other:
   * a test takes an object name of its own.
   */
  readonly storagePage: Page;
}

interface WorkerFixtures {
  readonly server: TestServer;
  /** A started browser for tests that neither restart nor kill it. */
  readonly sharedProfile: Profile;
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  server: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright finds a fixture's needs by pattern
    async ({}, use) => {
      const server = await startServer();
      await use(server);
      await server.close();
    },
    { scope: 'worker' },
  ],
  sharedProfile: [
    async ({ browserName }, use) => {
      const profile = new Profile(requireBrowser(browserName as BrowserName));
      await profile.launch();
      await use(profile);
      await profile.remove();
    },
    { scope: 'worker' },
  ],
  profile: async ({ browserName }, use) => {
    const profile = new Profile(requireBrowser(browserName as BrowserName));
    await use(profile);
    await profile.remove();
  },
  storagePage: async ({ sharedProfile, server }, use) => {
    const page = await openBlank(await sharedProfile.newPage(), server);
    await use(page);
    await page.close();
  },
});

export { expect } from '@playwright/test';
