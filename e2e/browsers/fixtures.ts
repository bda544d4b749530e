// The fixtures of end-to-end tests: the repository served on a free port, and a browser with a profile on
// disk.
//
// Invariant: a test on the blank page leaves no lock, no open file and no worker behind, and its page's
// heap is bounded; a leak fails the test that made it. Tests that share the browser share no origin.

import { type BrowserContext, test as base, type Page } from '@playwright/test';
import { openBlank } from './blank-page.ts';
import { type BrowserName, requireBrowser } from './browser.ts';
import { OFFLINE, startDemoSite } from './demo-site.ts';
import { KeptPage } from './kept-page.ts';
import { expectBounded, heapBytes, Observer } from './leftovers.ts';
import { ownOrigin } from './own-origin.ts';
import { Profile } from './profile.ts';
import { type Served, startServer, type TestServer } from './server.ts';
import { PlaywrightTabs, type TabBrowser } from './tabs.ts';
import { WebKitBrowser } from './webkit.ts';

interface Fixtures {
  /**
   * The shared browser. Pages and routes of the test end with the test; a script for all pages would not, nor would a clock,
   * which is refused.
   */
  readonly context: BrowserContext;
  /** The repository, served at an origin that no other test uses. */
  readonly server: Served;
  /** The built demo without its service worker, at an origin that no other test uses. */
  readonly demoSite: Served;
  /** The built demo with the service worker, which keeps it for visits without a network. */
  readonly offlineDemoSite: Served;
  /** A browser not yet started, whose profile outlives it and ends with the test. */
  readonly profile: Profile;
  /** A browser with only the actions that tests of WebKitGTK can perform as well; its profile ends with the test. */
  readonly tabs: TabBrowser;
  /** A blank page of `server` with `window.api`, in the shared browser; for tests that add no script to it. */
  readonly storagePage: Page;
  /** Sees the resources of the pages of `server`, from a page of its own. */
  readonly observer: Observer;
}

interface WorkerFixtures {
  readonly sharedServer: TestServer;
  readonly builtDemo: TestServer;
  readonly keptPage: KeptPage;
  /** A started browser for tests that neither restart nor kill it. */
  readonly sharedProfile: Profile;
}

/**
 * The limit for starting servers, builds and browsers that tests share. It does not count as time of the first test.
 */
const START_MS_MAX = 480_000;

export const test = base.extend<Fixtures, WorkerFixtures>({
  sharedServer: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright finds a fixture's needs by pattern
    async ({}, use) => {
      const server = await startServer({ builtPages: true });
      await use(server);
      await server.close();
    },
    { scope: 'worker', timeout: START_MS_MAX },
  ],
  keptPage: [
    async ({ sharedProfile }, use) => {
      const page = new KeptPage(sharedProfile);
      await use(page);
      await page.close();
    },
    { scope: 'worker', timeout: START_MS_MAX },
  ],
  builtDemo: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright finds a fixture's needs by pattern
    async ({}, use) => {
      const site = await startDemoSite();
      await use(site);
      await site.close();
    },
    { scope: 'worker', timeout: START_MS_MAX },
  ],
  sharedProfile: [
    async ({ browserName }, use) => {
      const profile = new Profile(requireBrowser(browserName as BrowserName));
      const { clock } = await profile.launch();
      const refuse = async () => {
        throw new Error('Other tests have this context, whose clock would stay: launch a profile.');
      };
      Object.assign(clock, { install: refuse, setFixedTime: refuse, setSystemTime: refuse });
      await use(profile);
      await profile.remove();
    },
    { scope: 'worker', timeout: START_MS_MAX },
  ],
  server: ({ sharedServer }, use) => use(ownOrigin(sharedServer)),
  demoSite: ({ builtDemo }, use) => use(ownOrigin(builtDemo)),
  offlineDemoSite: ({ builtDemo }, use) => use(ownOrigin(builtDemo, OFFLINE)),
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
  observer: async ({ sharedProfile, server }, use) => {
    const page = await sharedProfile.newPage();
    await use(await Observer.open(page, server));
    await page.close();
  },
  storagePage: async ({ keptPage, server, browserName }, use) => {
    const page = await openBlank(await keptPage.open(), server);
    const tellsHeap = browserName === 'chromium';
    const heapBefore = tellsHeap ? await heapBytes(page) : 0;
    await use(page);
    if (tellsHeap && !page.isClosed()) expectBounded(heapBefore, await heapBytes(page));
    // The page that leaves the test counts the remaining resources.
    const observer = await Observer.open(await keptPage.open(), server);
    await observer.expectNothing();
  },
});

export { expect } from '@playwright/test';
