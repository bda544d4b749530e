// npm run closings -- [--browser chromium|firefox] [--count 45]
//
// The only tab of a site writes and is closed, and the count of the writes that are kept is printed. No write was
// acknowledged, so none is promised (docs/storage-care.md has the figures). In four ways, and with IndexedDB itself:
//
//   same task   the tab writes and closes itself, in one task
//   closed      the tab writes, and its user closes it
//   pagehide    the tab writes as it goes away, at this event
//   hidden      the same at `visibilitychange`

import { parseArgs } from 'node:util';
import type { Page } from '@playwright/test';
import { requireBrowser } from '../../browsers/browser.ts';
import { Profile } from '../../browsers/profile.ts';
import { startSite } from '../torture/site.ts';
import type {} from './page.ts';

const { values } = parseArgs({
  options: {
    browser: { type: 'string', default: 'chromium' },
    count: { type: 'string', default: '45' },
  },
});
const { browser: name } = values;
const count = Number(values.count);
if (name !== 'chromium' && name !== 'firefox') {
  throw new Error('closings: --browser is chromium or firefox.');
}
if (!(count >= 1)) throw new Error('closings: --count takes a number above 0.');

type Medium = 'package' | 'indexeddb';

const WAYS: Readonly<Record<string, (page: Page, key: string) => Promise<void>>> = {
  async 'same task'(page, key) {
    const closed = page.waitForEvent('close');
    await page.evaluate((key) => window.closings.writeAndClose(key), key);
    await closed;
  },
  async closed(page, key) {
    await page.evaluate((key) => window.closings.write(key), key);
    await page.close();
  },
  async pagehide(page, key) {
    await page.evaluate((key) => window.closings.writeOnHide(key), key);
    await closeAsUser(page);
  },
  async hidden(page, key) {
    await page.evaluate((key) => window.closings.writeOnHidden(key), key);
    await closeAsUser(page);
  },
};

async function closeAsUser(page: Page): Promise<void> {
  await page.close({ runBeforeUnload: true });
  if (!page.isClosed()) await page.waitForEvent('close');
}

const browser = requireBrowser(name);
const site = await startSite({
  page: 'e2e/break/closings/page.ts',
  'objects-worker': 'e2e/break/torture/worker.ts',
});
const profile = new Profile(browser);
try {
  const context = await profile.launch();
  // Only a tab that a script has opened may close itself. This one is of another site.
  const keeper = await context.newPage();
  await keeper.goto(`${site.origin.replace('localhost', '127.0.0.1')}/blank.html`);
  const open = async (medium: Medium): Promise<Page> => {
    const opened = context.waitForEvent('page');
    await keeper.evaluate((url) => void window.open(url), site.origin);
    const page = await opened;
    await page.waitForFunction(() => 'closings' in window);
    await page.evaluate((medium) => window.closings.prepare(medium), medium);
    return page;
  };
  console.log(`${browser.version}, ${count} closings each`);
  for (const medium of ['package', 'indexeddb'] as const) {
    for (const [way, close] of Object.entries(WAYS)) {
      for (let i = 0; i < count; i++) await close(await open(medium), `${way} ${i}`);
      const page = await open(medium);
      const keys = await page.evaluate((medium) => window.closings.keys(medium), medium);
      await page.close();
      const kept = keys.filter((key) => key.startsWith(`${way} `)).length;
      console.log(`${medium}, ${way}: ${kept} of ${count} kept`);
    }
  }
} finally {
  await profile.remove();
  await site.close();
}
