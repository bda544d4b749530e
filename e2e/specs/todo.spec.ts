// The todo app of docs/examples/todo, built from the packed package: two tabs, no network, undo; two devices that follow
// a server.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { keptOffline } from '../browsers/kept-offline.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { copyExample, removeExample, runScript, startFollowed } from '../package/copied-example.ts';
import { serveFolder } from '../package/installed.ts';

let directory: string;

test.beforeAll(async () => {
  directory = await copyExample('todo');
  runScript(directory, 'build');
});

test.afterAll(() => removeExample(directory));

test('[APP2] the todo app follows changes in two tabs, shows saved changes, and undoes', {
  tag: [LONG, ONCE],
}, async ({ context }) => {
  await served(async (address) => {
    const [one, two] = [await context.newPage(), await context.newPage()] as const;
    for (const tab of [one, two]) await tab.goto(address);
    await watchStatus(one);
    await add(one, 'milk');
    await expect
      .poll(() => statusesOf(one))
      .toEqual(['Saving …', expect.stringContaining('Saved at')]);
    await add(two, 'bread');
    for (const tab of [one, two]) await expect(tab.locator('li')).toHaveCount(2);

    // The box shows the stored state, so it changes when that state has changed.
    await one.getByRole('checkbox').first().click();
    await expect(one.getByRole('checkbox').first()).toBeChecked();
    await expect(two.getByRole('checkbox').first()).toBeChecked();
    await two.getByRole('button', { name: 'Delete' }).last().click();
    await expect(one.locator('li')).toHaveText([/milk/]);
    await two.getByRole('button', { name: 'Undo' }).click();
    for (const tab of [one, two]) await expect(tab.locator('li')).toHaveText([/milk/, /bread/]);
    await expect(one.getByRole('checkbox').first()).toBeChecked();
    await one.getByRole('button', { name: 'Undo' }).click();
    for (const tab of [one, two]) await expect(tab.getByRole('checkbox').first()).not.toBeChecked();
    await expect(one.getByRole('alert')).toHaveCount(0);

    await one.close();
    await expect(two.getByRole('status')).toContainText('Saved at');
    await addAtLast(two, 'eggs', address);
    await expect(two.locator('li')).toHaveText([/milk/, /bread/, /eggs/]);
  });
});

test('[APP2] the todo app goes on without its server, and opens again without it', {
  tag: [LONG, RELEASE],
}, async ({ profile }) => {
  const context = await profile.launch();
  let address = '';
  let page = await context.newPage();
  await served(async (servedAt) => {
    address = servedAt;
    await page.goto(address);
    await add(page, 'milk');
    await expect(page.locator('li')).toHaveText([/milk/]);
    await keptOffline(page);
  });
  await add(page, 'bread');
  await expect(page.locator('li')).toHaveText([/milk/, /bread/]);
  await expect(page.getByRole('status')).toContainText('Saved at');
  await page.close();

  page = await context.newPage();
  await page.goto(address);
  await expect(page.locator('li')).toHaveText([/milk/, /bread/]);
  await add(page, 'eggs');
  await expect(page.locator('li')).toHaveCount(3);
  expect(await fetchFails(page)).toBe(true);
});

test('[APP7] the todo app follows a server on two devices: offline, through a reload, and with a refused call', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, profile }) => {
  const folder = await copyExample('todo');
  let server = await startFollowed(folder);
  try {
    let phone = await (await profile.launch()).newPage();
    const laptop = await context.newPage();
    for (const device of [phone, laptop]) {
      await device.goto(server.address);
      await signIn(device, 'ann');
      await expect(device.getByRole('status')).toHaveText('Up to date');
    }
    await add(phone, 'milk');
    await expect(laptop.locator('li')).toHaveText([/milk/]);
    await laptop.getByRole('checkbox').click();
    await expect(phone.getByRole('checkbox')).toBeChecked();
    await add(laptop, 'milk');
    await expect(laptop.getByRole('alert')).toHaveText('Error: "milk" is on the list already.');
    await keptOffline(phone);

    await server.stop();
    for (const text of ['salt', 'bread']) await add(phone, text);
    await expect(phone.locator('li')).toHaveText([/milk/, /salt/, /bread/]);
    await expect(phone.getByRole('status')).toHaveText('Offline, 2 to send');
    await phone.reload();
    await expect(phone.locator('li')).toHaveText([/milk/, /salt/, /bread/]);
    await expect(phone.getByRole('status')).toHaveText('Offline, 2 to send');
    await profile.quit();
    await add(laptop, 'bread');
    await expect(laptop.getByRole('status')).toHaveText('Offline, 1 to send');

    server = await startFollowed(folder, server.address);
    await expect(laptop.getByRole('status')).toHaveText('Up to date');
    await add(laptop, 'salt');
    await expect(laptop.getByRole('status')).toHaveText('Up to date');
    phone = await (await profile.launch()).newPage();
    await phone.goto(server.address);
    await expect(phone.getByRole('status')).toHaveText('Up to date');
    for (const device of [phone, laptop])
      await expect(device.locator('li')).toHaveText([/milk/, /bread/, /salt/]);
    const refused = (text: string) => phone.getByRole('alert').filter({ hasText: `["${text}"]` });
    await expect(refused('salt')).toContainText('Refused: add ["salt"]. Error: "salt" is on the');
    await refused('salt').getByRole('button', { name: 'Dismiss' }).click();
    await expect(phone.getByRole('alert')).toHaveText([/bread/]);

    await laptop.locator('li', { hasText: 'bread' }).getByRole('button').click();
    await expect(phone.locator('li')).toHaveText([/milk/, /salt/]);
    await phone.reload();
    await refused('bread').getByRole('button', { name: 'Try again' }).click();
    for (const device of [phone, laptop])
      await expect(device.locator('li')).toHaveText([/milk/, /salt/, /bread/]);
    await expect(phone.getByRole('alert')).toHaveCount(0);
  } finally {
    await server.stop();
    removeExample(folder);
  }
});

test('[APP9] the next person at a device of the todo app has a list of their own, and learns when a session has ended', {
  tag: [LONG, ONCE],
}, async ({ context }) => {
  const folder = await copyExample('todo');
  const server = await startFollowed(folder);
  try {
    const page = await context.newPage();
    await page.goto(server.address);
    await signIn(page, 'ann');
    await add(page, 'milk');
    await expect(page.locator('li')).toHaveText([/milk/]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'ben');
    await expect(page.getByRole('status')).toHaveText('Up to date');
    await expect(page.locator('li')).toHaveCount(0);
    await add(page, 'bread');
    await expect(page.getByRole('status')).toHaveText('Up to date');

    await context.clearCookies();
    await page.reload();
    await expect(page.locator('li')).toHaveText([/bread/]);
    await signIn(page, 'ben');
    await expect(page.getByRole('status')).toHaveText('Up to date');
    await expect(page.locator('li')).toHaveText([/bread/]);
  } finally {
    await server.stop();
    removeExample(folder);
  }
});

async function signIn(page: Page, name: string): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Password').fill('correct horse');
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Runs the task while the app is served. */
async function served(task: (address: string) => Promise<void>): Promise<void> {
  const server: Server = await serveFolder(join(directory, 'dist'));
  try {
    await task(`http://localhost:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function add(page: Page, text: string): Promise<void> {
  const input = page.getByLabel('New item');
  await input.pressSequentially(text); // as a user: React misses the event of `fill` in Firefox
  await expect(input).toHaveValue(text);
  await input.press('Enter');
  await expect(input).toHaveValue('');
}

/**
 * Adds an item while the leading tab may be ending: as docs/errors.md asks of CONNECTION_CLOSED, the list is read before
 * the item is added again. A new tab reads it from the storage.
 */
async function addAtLast(page: Page, text: string, address: string): Promise<void> {
  const item = (tab: Page) => tab.locator('li', { hasText: text });
  const problem = page.getByRole('alert');
  for (;;) {
    await add(page, text);
    await expect(item(page).or(problem).first()).toBeVisible();
    if (await item(page).isVisible()) return;
    await expect(problem).toContainText('The connection to the worker ended');
    const reader = await page.context().newPage();
    await reader.goto(address);
    await expect(reader.locator('ul[aria-busy="false"]')).toBeVisible();
    const isStored = (await item(reader).count()) > 0;
    await reader.close();
    if (isStored) return;
  }
}

declare global {
  interface Window {
    statuses: string[];
  }
}

/** Records the texts of the badge from now on. */
async function watchStatus(page: Page): Promise<void> {
  await page.getByRole('status').evaluate((status) => {
    window.statuses = [];
    const note = () => window.statuses.push(status.textContent);
    const observer = new MutationObserver(note);
    observer.observe(status, { childList: true, characterData: true, subtree: true });
  });
}

/** The texts of the badge, without repetitions. */
const statusesOf = (page: Page) =>
  page.evaluate(() => window.statuses.filter((text, i, all) => text !== all[i - 1]));

/** Whether the server is really gone. */
const fetchFails = (page: Page) =>
  page.evaluate(() =>
    fetch(`./service-worker.js?${Math.random()}`).then(
      () => false,
      () => true,
    ),
  );
