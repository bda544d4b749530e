// The hooks of `ctx-storage/react` on real objects, in tabs that come and go.

import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import { LONG, ONCE, REST } from '../browsers/tags.ts';

test('[REACT8] components of two tabs show the writes of both, and go on when the leading tab closes', {
  tag: [LONG, ONCE, REST],
}, async ({ context, server }) => {
  const leader = await openReact(await context.newPage(), server, 'react');
  const follower = await openReact(await context.newPage(), server, 'react');
  await expect(follower.locator('#badge')).toHaveText('following saved');
  await leader.evaluate(() => window.react.note('one'));
  await expect(leader.locator('#badge')).toHaveText('leading saved');
  await follower.evaluate(() => window.react.note('two'));
  for (const tab of [leader, follower]) {
    await expect(tab.locator('#notes')).toHaveText('one, two');
    await expect(tab.locator('#sum')).toHaveText('ready 0');
  }

  await leader.close();
  await expect(follower.locator('#badge')).toHaveText('leading saved');
  await write(follower, 'react');
  await expect(follower.locator('#notes')).toHaveText('one, two, three');
  await expect(follower.locator('#sum')).toHaveText('ready 1');

  const third = await openReact(await context.newPage(), server, 'react');
  await expect(third.locator('#notes')).toHaveText('one, two, three');
});

test('[REACT8] components go on when the worker that leads is terminated', async ({
  context,
  server,
}) => {
  const page = await openReact(await context.newPage(), server, 'react-terminated');
  await page.evaluate(() => window.react.note('one'));
  await expect(page.locator('#notes')).toHaveText('one');
  await page.evaluate(() => {
    for (const worker of window.api.workers) worker.terminate();
  });
  await write(page, 'react-terminated');
  await expect(page.locator('#notes')).toHaveText('one, three');
  await expect(page.locator('#sum')).toHaveText('ready 1');
  await page.close();
});

test('[REACT3] the object reads for components in StrictMode once, and no more when they are gone', {
  tag: [LONG, ONCE],
}, async ({ context, server }) => {
  const page = await openReact(await context.newPage(), server, 'react-left');
  await expect(page.locator('#sum')).toHaveText('ready 0');
  expect(await readsOf(page)).toBe(1);
  await page.evaluate(() => window.react.leave());
  await expect(page.locator('#sum')).toHaveCount(0);
  // The end of the live read is sent before the following call; an object with a live read would run
  // it.
  await page.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    for (let i = 0; i < 5; i++) await env.Room.getByName('react-left').add(1);
  });
  expect(await readsOf(page)).toBe(1);
  await page.evaluate(() => window.react.show('react-left'));
  await expect(page.locator('#sum')).toHaveText('ready 5');
  await page.close();
});

test('[DRAFT10] each letter typed at 30 ms a key into a field of a live row stays, and is stored', async ({
  context,
  server,
}) => {
  const page = await openPage(await context.newPage(), server);
  await page.evaluate(() => window.react.showField('field', false));
  const sentence = 'The quick brown fox jumps over the lazy dog, and over the fence, and is gone.';
  await page.locator('#field').pressSequentially(sentence, { delay: 30 });
  await expect(page.locator('#field')).toHaveValue(sentence);
  await expect(page.locator('#state')).toHaveText(`saved ${sentence}`);
  // The field shows the text of another writer, and typing continues in it.
  await page.evaluate(async () => {
    const storage = await window.api.openStorage('field');
    await storage.sql.exec("UPDATE note SET text = 'Other'").ready;
  });
  await expect(page.locator('#field')).toHaveValue('Other');
  await page.locator('#field').press('End');
  await page.locator('#field').pressSequentially(' words');
  await page.evaluate(() => window.react.leave());
  const stored = () =>
    page.evaluate(async () => {
      const storage = await window.api.openStorage('field');
      return (await storage.sql.exec('SELECT text FROM note').one()).text;
    });
  await expect.poll(stored).toBe('Other words');
  await page.close();
});

/** The page of pages/react.html, which shows the object of this name. */
async function openReact(page: Page, server: Served, name: string): Promise<Page> {
  await openPage(page, server);
  await page.evaluate((name) => window.react.show(name), name);
  await expect(page.locator('#notes')).toBeAttached();
  return page;
}

/** Adds a note and to the sum; a call that meets a worker on its way out is made again. */
async function write(page: Page, name: string): Promise<void> {
  await page.evaluate(async (name) => {
    const again = async (call: () => Promise<unknown>) => {
      for (;;) {
        try {
          return await call();
        } catch (error) {
          if ((error as { code?: string }).code !== 'CONNECTION_CLOSED') throw error;
        }
      }
    };
    await again(() => window.react.note('three'));
    const { env } = await window.api.connectRooms();
    await again(() => env.Room.getByName(name).add(1));
  }, name);
}

const readsOf = (page: Page) =>
  page.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    return env.Room.getByName('react-left').reads();
  });

async function openPage(page: Page, server: Served): Promise<Page> {
  await page.goto(`${server.origin}/e2e/specs/pages/react.html`);
  await page.waitForFunction(() => 'react' in window);
  return page;
}
