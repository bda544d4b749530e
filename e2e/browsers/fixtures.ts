// What end-to-end tests start from: the repository served on a free port, and a browser with a
// profile on disk.
//
// Keeps true: a test on the blank page leaves no lock, no open file and no worker behind, and its
// page's heap is bounded; a leak fails the test that made it. Tests that share the browser share no origin,
// those of the blank page aside.

import { type BrowserContext, test as base, type Page } from '@playwright/test';
import { openBlank } from './blank-page.ts';
import { type BrowserName, requireBrowser } from './browser.ts';
import { startDemoSite } from './demo-site.ts';
import { expectBounded, heapBytes, Observer } from './leftovers.ts';
import { ownOrigin } from './own-origin.ts';
import { Profile } from './profile.ts';
import { type Served, startServer, type TestServer } from './server.ts';
import { PlaywrightTabs, type TabBrowser } from './tabs.ts';
import { WebKitBrowser } from './webkit.ts';

interface Fixtures {
  /** The shared browser. What the test opens in it, or routes, ends with the test; a script for all pages would not. */
  readonly context: BrowserContext;
  /** The repository, served at an origin that no other test uses. */
  readonly server: Served;
  /** The built demo, at an origin that no other test uses. */
  readonly demoSite: Served;
  /** A browser not yet started, whose profile outlives it and ends with the test. */
  readonly profile: Profile;
  /** The same, in what tests of WebKitGTK can do with it as well. */
  readonly tabs: TabBrowser;
  /**
   * A blank page with `window.api`, in a browser that other tests use as well, one after the other:
   * a test takes an object name of its own.
   */
  readonly storagePage: Page;
}

interface WorkerFixtures {
  /** Where `storagePage` comes from. */
  readonly sharedServer: TestServer;
  readonly builtDemo: TestServer;
  /** Sees what the pages of the shared browser hold. */
  readonly observer: Observer;
  /** A started browser for tests that neither restart nor kill it. */
  readonly sharedProfile: Profile;
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  sharedServer: [
    async ({ browserName }, use, { parallelIndex }) => {
      const cache = `${browserName}-${parallelIndex}`;
      const server = await startServer({ cache, builtPages: true });
      await use(server);
      await server.close();
    },
    { scope: 'worker' },
  ],
  builtDemo: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright finds a fixture's needs by pattern
    async ({}, use) => {
      const site = await startDemoSite();
      await use(site);
      await site.close();
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
  observer: [
    async ({ sharedProfile, sharedServer }, use) => {
      const observer = await Observer.open(sharedProfile.context, sharedServer);
      await use(observer);
      await observer.close();
    },
    { scope: 'worker' },
  ],
  server: ({ sharedServer }, use) => use(ownOrigin(sharedServer)),
  demoSite: ({ builtDemo }, use) => use(ownOrigin(builtDemo)),
  context: async ({ sharedProfile: { context } }, use) => {
    const before = new Set(context.pages());
    await use(context);
    await context.unrouteAll({ behavior: 'ignoreErrors' });
    await context.setOffline(false);
    await Promise.all(context.pages().map((page) => !before.has(page) && page.close()));
  },
  profile: async ({ browserName }, use) => {
    const profile = new Profile(requireBrowser(browserName as BrowserName));
    await use(profile);
    await profile.remove();
  },
  tabs: async ({ browserName }, use) => {
    const tabs =
      browserName === 'webkit'
        ? new WebKitBrowser()
        : new PlaywrightTabs(new Profile(requireBrowser(browserName)));
    await use(tabs);
    await tabs.remove();
  },
  storagePage: async ({ sharedProfile, sharedServer, observer, browserName }, use) => {
    const before = await observer.holdings();
    const page = await openBlank(await sharedProfile.newPage(), sharedServer);
    const tellsHeap = browserName === 'chromium';
    const heapBefore = tellsHeap ? await heapBytes(page) : 0;
    await use(page);
    if (tellsHeap && !page.isClosed()) expectBounded(heapBefore, await heapBytes(page));
    await page.close();
    await observer.expectNoMoreThan(before);
  },
});

export { expect } from '@playwright/test';
