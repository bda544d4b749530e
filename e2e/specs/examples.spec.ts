// The examples of docs/examples, with the packed package: they run, unless another file tests that.

import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Page } from '@playwright/test';
import { WebSocket } from 'ws';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import {
  copyExample,
  removeExample,
  runScript,
  startFollowed,
  whileServing,
} from '../package/copied-example.ts';
import { serveFolder } from '../package/installed.ts';

test.describe('chat', { tag: ONCE }, async () => {
  let folder: string;
  test.beforeAll(async () => {
    folder = await copyExample('chat');
  });
  test.afterAll(() => removeExample(folder));

  test('[APP2] two tabs talk in a room of their browser, and go on when one is closed', {
    tag: LONG,
  }, async ({ context }) => {
    runScript(folder, 'build');
    const server = await serveFolder(join(folder, 'dist'));
    try {
      const { port } = server.address() as AddressInfo;
      const other = await talk(context, `http://localhost:${port}/`);
      await expect(other.getByRole('status')).toHaveText('Connected');
      await say(other, 'alone');
      await expect(other.getByRole('listitem')).toHaveText([/Adahello/, /Bobhi/, /Bobalone/]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  test('[APP2] they talk in the same room on workerd', { tag: [LONG, RELEASE] }, async ({
    context,
  }) => {
    await whileServing(folder, 'workerd.js', async (address) => {
      const other = await talk(context, address, ['ada', 'bob']);
      expect(other.workers(), 'nothing runs in the page').toEqual([]);
      await say(other, 'alone');
      await expect(other.getByRole('listitem')).toHaveText([/adahello/, /bobhi/, /bobalone/]);
      await context.clearCookies();
      await other.reload();
      await expect(other.getByRole('status')).toHaveText('Error: Signed out: sign in again');
    });
  });
});

test('[APP7] two devices talk in rooms that follow a server, also while it is stopped, and meet a socket', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, profile }) => {
  const folder = await copyExample('chat');
  let server = await startFollowed(folder);
  try {
    const phone = await enter(await profile.launch(), server.address, 'ada');
    const laptop = await enter(context, server.address, 'bob');
    await say(phone, 'hello');
    await expect(laptop.getByRole('listitem')).toHaveText([/adahello/]);
    const heard: string[] = [];
    const socket = new WebSocket(new URL('room/lobby', server.address), {
      headers: await eveAt(server.address),
    });
    socket.on('message', (data) => heard.push(JSON.parse(String(data)).text));
    socket.on('open', () => socket.send('by a socket'));
    for (const device of [phone, laptop])
      await expect(device.getByRole('listitem')).toHaveText([/adahello/, /eveby a socket/]);
    await say(laptop, 'hi');
    await expect.poll(() => heard).toEqual(['hello', 'by a socket', 'hi']);

    await server.stop();
    await say(phone, 'later');
    await expect(phone.getByRole('listitem').last()).toHaveText(/adalater/);
    await expect(phone.getByRole('status')).toHaveText('Offline, 1 to send');
    server = await startFollowed(folder, server.address);
    const all = [/adahello/, /eveby a socket/, /bobhi/, /adalater/];
    for (const device of [phone, laptop]) {
      await expect(device.getByRole('listitem')).toHaveText(all);
      await expect(device.getByRole('status')).toHaveText('Connected');
    }
  } finally {
    await server.stop();
    removeExample(folder);
  }
});

test('[APP2] the tests of the API client pass', { tag: [ONCE, LONG, RELEASE] }, async () => {
  const folder = await copyExample('api-client');
  try {
    expect(runScript(folder, 'test')).toMatch(/5 passed/);
  } finally {
    removeExample(folder);
  }
});

/** Two tabs enter, talk, and load the earlier messages again; the first leaves. */
async function talk(
  context: BrowserContext,
  address: string,
  [first, second] = ['Ada', 'Bob'] as [string, string],
): Promise<Page> {
  const one = await enter(context, address, first);
  const other = await enter(context, address, second);
  const both = [new RegExp(`${first}hello`), new RegExp(`${second}hi`)] as const;
  await say(one, 'hello');
  await expect(other.getByRole('listitem')).toHaveText([both[0]]);
  await say(other, 'hi');
  for (const tab of [one, other]) await expect(tab.getByRole('listitem')).toHaveText([...both]);
  await one.reload();
  await expect(one.getByRole('listitem')).toHaveText([...both]);
  await one.close();
  return other;
}

async function enter(context: BrowserContext, address: string, name: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  await page.getByLabel('Your name').fill(name);
  const password = page.getByLabel('Password');
  if (await password.isVisible()) await password.fill('correct horse');
  await page.getByRole('button', { name: 'Enter' }).click();
  await expect(page.getByRole('status')).toHaveText('Connected');
  return page;
}

/** Signs in without a page, and returns the headers of a browser that has. */
async function eveAt(address: string): Promise<Record<string, string>> {
  const Origin = new URL(address).origin;
  const response = await fetch(new URL('sign-in', address), {
    method: 'POST',
    headers: { Origin },
    body: JSON.stringify({ name: 'eve', password: 'correct horse' }),
  });
  return { Origin, Cookie: response.headers.get('Set-Cookie')!.split(';')[0]! };
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}
