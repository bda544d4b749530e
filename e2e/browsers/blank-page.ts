// The page of pages/blank.html in a browser under test, with `window.api` on it.

import type { Page } from '@playwright/test';
import { BLANK_PATH, type Served } from './server.ts';

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
