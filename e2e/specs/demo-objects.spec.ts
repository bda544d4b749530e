// The demo's panel of hosted objects, as a visitor uses it.

import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE } from '../browsers/tags.ts';

test('a room is an object: it is made, talked to, seen in two tabs, and forgets by its alarm', {
  tag: [LONG, ONCE],
}, async ({ context, demoSite }) => {
  const open = async () => {
    const page = await context.newPage();
    await page.goto(`${demoSite.origin}/notes.html#view=objects`);
    return page;
  };
  const one = await open();
  await expect(one.getByText('No rooms yet')).toBeVisible();
  await one.getByLabel('Name of a room').fill('lobby');
  await one.getByRole('button', { name: 'Open room' }).click();
  await expect(one.getByText('nothing to delete')).toBeVisible();
  await one.getByLabel('Message', { exact: true }).fill('hello');
  await one.getByLabel('Message', { exact: true }).press('Enter');
  await expect(one.getByText('1 message', { exact: true })).toBeVisible();

  const two = await open();
  await two.getByRole('button', { name: 'lobby', exact: true }).click();
  await two.getByLabel('Message', { exact: true }).fill('from the other tab');
  await two.getByRole('button', { name: 'Post' }).click();
  await expect(one.getByText('from the other tab')).toBeVisible();

  await one.bringToFront();
  await one.getByRole('button', { name: 'Forward 1 day' }).click();
  await expect(one.getByText(/stopped at/)).toBeVisible();
  await one.getByRole('button', { name: 'Forward 1 hour' }).click();
  await expect(one.getByText('0 messages')).toBeVisible();
  await one.getByRole('button', { name: 'Back to real time' }).click();

  await one.getByRole('button', { name: 'All rooms' }).click();
  await one.getByRole('button', { name: 'Delete lobby' }).click();
  await expect(one.getByText('No rooms yet')).toBeVisible();
});

test('the first screen introduces the page, and leads to the source of its class', {
  tag: [LONG, ONCE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/notes.html`);
  await expect(
    page.getByRole('heading', { name: /^Write a Durable Object\. Run it in the browser/ }),
  ).toBeInViewport();
  await page.getByRole('link', { name: 'read its source' }).click();
  await expect(page.getByText('export class Room extends DurableObject<Env>')).toBeVisible();
});
