// Waits until a page's service worker keeps the site.
//
// An installation that fails, because one of many files did not arrive, is repeated by the next visit, as for a visitor:
// until then `navigator.serviceWorker.ready` waits without end. A visit lasts fifteen looks, because the page registers
// its service worker some time after it was loaded: a visit that ends before never does.

import { expect, type Page } from '@playwright/test';

export async function keptOffline(page: Page): Promise<void> {
  let looks = 0;
  await expect(async () => {
    looks += 1;
    const state = await page.evaluate(async () => {
      const registration = await navigator.serviceWorker.getRegistration();
      if (registration?.active?.state === 'activated') return 'kept';
      return registration === undefined ? 'none' : 'installing';
    });
    if (state !== 'kept' && looks % 15 === 0) await page.reload();
    expect(state).toBe('kept');
  }).toPass({ intervals: [1000] });
}
