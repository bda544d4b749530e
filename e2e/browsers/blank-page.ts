// The page of pages/blank.html in a browser under test, with `window.api` on it.

import { expect, type Page } from '@playwright/test';
import { BLANK_PATH, type Served } from './server.ts';
import type { Tab, TabBrowser } from './tabs.ts';

/** Brings a page to the blank page and waits until its module has run. */
export async function openBlank(page: Page, server: Served): Promise<Page> {
  await page.goto(`${server.origin}${BLANK_PATH}`);
  await whenLoaded(page);
  return page;
}

/** Waits until the module of the blank page has run; after a reload as well. @throws when it cannot */
export async function whenLoaded(page: Page): Promise<void> {
  await page.waitForFunction(() => 'api' in window || document.title !== 'blank');
  if ((await page.title()) !== 'blank') {
    throw new Error('The blank page could not be loaded with its module; open it to see why.');
  }
}

/** Opens the blank page in a tab of its own, also of a browser that Playwright has no driver for. */
export async function openBlankTab(tabs: TabBrowser, server: Served): Promise<Tab> {
  const tab = await tabs.openTab(`${server.origin}${BLANK_PATH}`);
  await whenReady(tab);
  return tab;
}

/** Like `whenLoaded`, for a tab. */
export async function whenReady(tab: Tab): Promise<void> {
  await expect.poll(() => tab.evaluate(() => 'api' in window, null)).toBe(true);
}
