// The demo's page of two devices and a server.

import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, REST } from '../browsers/tags.ts';

const place = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const items = (page: Page, name: string) => place(page, name).getByRole('listitem');

async function add(page: Page, name: string, title: string): Promise<void> {
  const field = place(page, name).getByLabel('New item');
  await field.fill(title);
  await field.press('Enter');
}

test('[DEMO35] two devices work in aeroplane mode and meet; a refusal is shown; a restart, and another tab, lose nothing', {
  tag: LONG,
}, async ({ context, demoSite }) => {
  const errors: string[] = [];
  const page = await context.newPage();
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(`${demoSite.origin}/devices.html`);
  await add(page, 'Phone', 'milk');
  for (const name of ['Laptop', 'Server']) await expect(items(page, name)).toHaveText([/milk/]);

  for (const name of ['Phone', 'Laptop']) {
    await place(page, name).getByLabel('Aeroplane mode').check();
  }
  await add(page, 'Phone', 'butter');
  await add(page, 'Laptop', 'butter');
  await add(page, 'Laptop', 'eggs');
  await expect(place(page, 'Laptop').getByRole('status')).toHaveText('Offline, 2 to send');
  await expect(items(page, 'Laptop')).toHaveText([/milk/, /butter/, /eggs/]);
  await expect(items(page, 'Server')).toHaveText([/milk/]);

  await place(page, 'Phone').getByLabel('Aeroplane mode').uncheck();
  await expect(items(page, 'Server')).toHaveText([/milk/, /butter/]);
  await place(page, 'Server').getByRole('button', { name: 'Restart' }).click();
  await place(page, 'Laptop').getByLabel('Aeroplane mode').uncheck();
  await expect(place(page, 'Laptop')).toContainText(
    'Refused: add “butter”. The list has “butter” already.',
  );
  for (const name of ['Phone', 'Laptop', 'Server']) {
    await expect(items(page, name)).toHaveText([/milk/, /butter/, /eggs/]);
  }
  await add(page, 'Phone', 'butter');
  await expect(place(page, 'Phone').locator('.refusal')).toHaveText(
    'The list has “butter” already.',
  );
  await place(page, 'Laptop').getByRole('button', { name: 'Dismiss' }).click();
  await expect(place(page, 'Laptop')).not.toContainText('Refused');

  const other = await context.newPage();
  await other.goto(`${demoSite.origin}/devices.html`);
  await expect(items(other, 'Phone')).toHaveText([/milk/, /butter/, /eggs/]);
  await page.close();
  await add(other, 'Phone', 'bread');
  await expect(items(other, 'Laptop')).toHaveText([/milk/, /butter/, /eggs/, /bread/]);
  await other.close();
  expect(errors).toEqual([]);
});

test('[DEMO38] a checkbox stands right before its text, on a phone too', { tag: REST }, async ({
  context,
  demoSite,
}) => {
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/devices.html`);
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 740 });
    const checkbox = await place(page, 'Phone').getByLabel('Aeroplane mode').boundingBox();
    expect(checkbox!.width).toBeLessThan(40);
  }
});
