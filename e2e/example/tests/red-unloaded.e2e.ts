// Red as well: nothing is loaded yet, or what is loaded is not the app.

import { defineObjects, test } from 'ctx-storage/playwright';

test.skip(process.env.RED === undefined, 'only to be read as failures');

test('a page that is not loaded', async ({ browser }) => {
  const context = await browser.newContext();
  await defineObjects({ context }).storage('Counter', 'visits').get('count');
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
