// Red as well: wrong use. Expected failures, so that Playwright starts no new browser after each.

import { defineObjects, expect, test } from 'ctx-storage/playwright';

test.fail();

test('a page that is not loaded', async ({ browser }) => {
  const context = await browser.newContext();
  await defineObjects({ context }).storage('Counter', 'visits').get('count');
});

test('a class that the app does not serve', async ({ page, objects }) => {
  await page.goto('/');
  await expect(page.locator('#visits')).toHaveText('0');
  await objects.storage('Visits', 'visits').get('count');
});

test('a seed with a value that cannot be stored', async ({ seed }) => {
  await seed('Counter', 'visits', { entries: { act: () => 1 } });
});

test('a seed with its keys in the wrong place', async ({ seed }) => {
  await seed('Counter', 'visits', { count: 5 } as object);
});

test('a second set of options', async ({ context, objects }) => {
  defineObjects({ context, directory: `other than ${objects}` });
});

test('a matcher on something else', async ({ page }) => {
  await expect(page).toHaveStored('count', 5);
});

test.describe('with little patience', () => {
  test.use({ objectsOptions: { timeout: 300 } });

  test('a page that does not use the package', async ({ page, objects }) => {
    await page.route('/plain', (route) => route.fulfill({ body: 'plain' }));
    await page.goto('/plain');
    await objects.storage('Counter', 'visits').get('count');
  });

  test('a clock without an app', async ({ clock }) => {
    await clock.advance(1000);
  });
});

test.describe('of another script', () => {
  test.use({ objectsOptions: { scriptName: 'shop' } });

  test('a seed under another key than the app uses', async ({ page, seed, objects }) => {
    await seed('Counter', 'visits', { entries: { count: 5 } });
    await page.goto('/');
    await objects.storage('Counter', 'visits').call('add', 0);
  });
});
