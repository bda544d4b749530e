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
  /** A blank page with `window.api`, in a started browser on `profile`. */
  readonly storagePage: Page;
}

interface WorkerFixtures {
  readonly server: TestServer;
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
  profile: async ({ browserName }, use) => {
    const profile = new Profile(requireBrowser(browserName as BrowserName));
    await use(profile);
    await profile.remove();
  },
  storagePage: async ({ profile, server }, use) => {
    const context = await profile.launch();
    await use(await openBlank(await context.newPage(), server));
  },
});

export { expect } from '@playwright/test';
