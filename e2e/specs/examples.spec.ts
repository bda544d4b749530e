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
      const other = await talk(context, address);
      expect(other.workers(), 'nothing runs in the page').toEqual([]);
      await say(other, 'alone');
      await expect(other.getByRole('listitem')).toHaveText([/Adahello/, /Bobhi/, /Bobalone/]);
    });
  });
});

test('[APP7] two devices talk in rooms that follow a server, also while it is stopped, and meet a socket', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, profile }) => {
  const folder = await copyExample('chat');
  let server = await startFollowed(folder);
  try {
    const phone = await enter(await profile.launch(), server.address, 'Ada');
    const laptop = await enter(context, server.address, 'Bob');
    await say(phone, 'hello');
    await expect(laptop.getByRole('listitem')).toHaveText([/Adahello/]);
    const heard: string[] = [];
    const socket = new WebSocket(new URL('room/lobby?author=Eve', server.address));
    socket.on('message', (data) => heard.push(JSON.parse(String(data)).text));
    socket.on('open', () => socket.send('by a socket'));
    for (const device of [phone, laptop])
      await expect(device.getByRole('listitem')).toHaveText([/Adahello/, /Eveby a socket/]);
    await say(laptop, 'hi');
    await expect.poll(() => heard).toEqual(['hello', 'by a socket', 'hi']);

    await server.stop();
    await say(phone, 'later');
    await expect(phone.getByRole('listitem').last()).toHaveText(/Adalater/);
    await expect(phone.getByRole('status')).toHaveText('Offline, 1 to send');
    server = await startFollowed(folder, server.address);
    const all = [/Adahello/, /Eveby a socket/, /Bobhi/, /Adalater/];
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
async function talk(context: BrowserContext, address: string): Promise<Page> {
  const one = await enter(context, address, 'Ada');
  const other = await enter(context, address, 'Bob');
  await say(one, 'hello');
  await expect(other.getByRole('listitem')).toHaveText([/Adahello/]);
  await say(other, 'hi');
  for (const tab of [one, other]) {
    await expect(tab.getByRole('listitem')).toHaveText([/Adahello/, /Bobhi/]);
  }
  await one.reload();
  await expect(one.getByRole('listitem')).toHaveText([/Adahello/, /Bobhi/]);
  await one.close();
  return other;
}

async function enter(context: BrowserContext, address: string, name: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(address);
  await page.getByLabel('Your name').fill(name);
  await page.getByRole('button', { name: 'Enter' }).click();
  await expect(page.getByRole('status')).toHaveText('Connected');
  return page;
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}
