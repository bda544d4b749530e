// The demo's benchmark: a run of two rows, the result it draws, and the removal of its data.

import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';

/** Notes which medium a directory has: it is one for all directories of the origin. */
const SHARED_DATABASE = 'ctx-storage-media';

/** The names of all folders, files and databases of the page's origin. */
function storedNames(page: Page): Promise<string[]> {
  return page.evaluate(async (shared) => {
    const names = (await indexedDB.databases()).map(({ name }) => name!);
    for await (const key of (await navigator.storage.getDirectory()).keys()) names.push(key);
    return names.filter((name) => name !== shared);
  }, SHARED_DATABASE);
}

test('[DEMO10] the benchmark draws a row of every contender that opens, can be stopped in its middle, leaves nothing, and is accessible', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.addInitScript(() => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const getDirectory = navigator.storage.getDirectory.bind(navigator.storage);
    navigator.storage.getDirectory = () => promise.then(getDirectory);
    Object.assign(window, { letRemove: resolve });
  });
  await page.goto(`${demoSite.origin}/bench.html`);
  // The figures of the documents stand where a result will be.
  const documented = page.getByRole('region', { name: 'Figures of the documents' });
  await expect(documented.getByRole('rowheader', { name: 'get page', exact: true })).toBeVisible();
  await expect(documented).toContainText('Measured on');
  await page.getByLabel('Rows').selectOption('page: get');
  await page.getByLabel('Rounds').selectOption('1');
  // While the data of an earlier visit is still being removed.
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.evaluate('letRemove()');
  await expect(page.getByText('Done. The data of the run is deleted.')).toBeVisible();
  const bars = page.getByRole('table', { name: /^get from a page/ });
  await expect(bars.getByRole('rowheader')).toHaveText([
    'ctx-storage',
    'sahpool, WAL',
    'idb, strict',
    'idb, relaxed',
    'limit',
  ]);
  await expect(page.getByText('Cannot run in this browser')).toHaveCount(0);
  await expect(page.getByText('kept its data in opfs')).toBeVisible();
  expect(await storedNames(page)).toEqual([]);
  await expect(documented).toHaveCount(0);

  // The next visit shows the result, with its date.
  const ours = bars.getByRole('row', { name: 'ctx-storage' });
  const measured = (await ours.textContent())!;
  await page.reload();
  await page.evaluate('letRemove()');
  await expect(ours).toHaveText(measured);
  await expect(page.getByText(/^\w+ \d+, \d{4}, .* 1 round ·/)).toBeVisible();
  await expect(documented).toHaveCount(0);

  for (const [colorScheme, width] of [['light', 1280] as const, ['dark', 390] as const]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    const { violations } = await new AxeBuilder({ page }).analyze();
    const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact!));
    expect(serious.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`)).toEqual([]);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBe(0);
  }

  await page.route('**/official.worker*', (route) => route.abort());
  await page.getByLabel('Rows').selectOption('page');
  await page.getByRole('button', { name: 'Run again' }).click();
  await expect(bars).toHaveCount(0);
  await expect(page.getByText('Cannot run in this browser')).toHaveText([
    'Cannot run in this browser: Error: worker: its script could not be loaded',
  ]);
  const others = ['ctx-storage', 'idb, strict', 'idb, relaxed', 'limit'];
  const first = page.getByRole('table', { name: /^put from a page/ });
  await expect(first.getByRole('rowheader')).toHaveText(others);
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText('Stopped. The data of the run is deleted.')).toBeVisible();
  await expect(first.getByRole('rowheader')).toHaveText(others);
  expect(await storedNames(page)).toEqual([]);
});
