// Nothing goes silent, in real browsers: a page learns that its subscription is lost, how it is connected, and
// whether its writes are saved.

import type { Page } from '@playwright/test';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REST } from '../browsers/tags.ts';

interface Seen {
  /** The events that the subscription received. */
  readonly heard: string[];
  /** Why a subscription was lost, once a loss. */
  readonly broken: string[];
  readonly states: string[];
}

declare global {
  interface Window {
    subscription: Seen;
  }
}

/** Subscribes to a room, and again whenever the subscription is lost. */
async function subscribe(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const objects = await window.api.connectRooms();
    const seen: Seen = { heard: [], broken: [], states: [objects.state] };
    window.subscription = seen;
    objects.addEventListener('statechange', () => {
      if (seen.states.at(-1) !== objects.state) seen.states.push(objects.state);
    });
    const listen = async () => {
      const room = objects.env.Room.getByName('subscribed');
      room.onRpcBroken((error) => {
        seen.broken.push((error as { code: string }).code);
        void listen();
      });
      await room.listen((event) => void seen.heard.push(event));
    };
    await listen();
  });
}

async function say(page: Page, event: string): Promise<void> {
  await page.evaluate(async (event) => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('subscribed').say(event);
  }, event);
}

const seenOf = (page: Page) => page.evaluate(() => window.subscription);

test('[STUB36] a subscription survives the leading tab, a terminated worker and a reset, because its page is told', {
  tag: REST,
}, async ({ context, server }) => {
  const one = await openBlank(await context.newPage(), server);
  await one.evaluate(async () => void (await window.api.connectRooms()));
  const two = await openBlank(await context.newPage(), server);
  await subscribe(two);
  await say(one, 'first');
  await expect.poll(async () => (await seenOf(two)).heard).toEqual(['first']);

  await one.close();
  await expect.poll(async () => (await seenOf(two)).broken).toEqual(['CONNECTION_CLOSED']);
  await expect
    .poll(async () => (await seenOf(two)).states)
    .toEqual(['following', 'connecting', 'leading']);
  await expect.poll(() => heardAfter(two, 'second')).toBe(true);

  await two.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('subscribed')
      .reset()
      .catch(() => {});
  });
  await expect.poll(async () => (await seenOf(two)).broken.at(-1)).toBe('OBJECT_RESET');
  await expect.poll(() => heardAfter(two, 'third')).toBe(true);

  await two.evaluate(() => window.api.workers.at(-1)!.terminate());
  await expect.poll(async () => (await seenOf(two)).broken.length).toBe(3);
  await expect.poll(() => heardAfter(two, 'fourth')).toBe(true);
});

/** Says the event until the page's own subscription hears it. */
async function heardAfter(page: Page, event: string): Promise<boolean> {
  await say(page, event).catch(() => {}); // while the worker changes
  return (await seenOf(page)).heard.includes(event);
}

test('[STATE3] a page knows its pending writes and when they were saved', async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('status');
    const before = [storage.state, storage.pendingWrites, storage.savedAt];
    const startMs = Date.now();
    const writes = [storage.put('a', 1), storage.put('b', 2)];
    const during = storage.pendingWrites;
    await Promise.all(writes);
    const savedAt = storage.savedAt!;
    const isNow = savedAt >= startMs && savedAt <= Date.now();
    const pending = storage.pendingWrites;
    await storage.close();
    return [before, during, pending, isNow, storage.state];
  });
  expect(seen).toEqual([['leading', 0, null], 2, 0, true, 'lost']);
});
