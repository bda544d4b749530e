// The instructions of docs/testing.md for suites, carried out.

import type { Page } from '@playwright/test';
import type { connect } from '../../src/index.ts';
import { openBlank } from '../browsers/blank-page.ts';
import { test as base, expect } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';
import type { Classes } from './pages/objects-worker.ts';

declare global {
  interface Window {
    objects: Awaited<ReturnType<typeof connect<Classes>>>;
  }
}

/** A page that shows its connection. */
const test = base.extend<{ page: Page }>({
  page: async ({ context, server }, use) => {
    const page = await openBlank(await context.newPage(), server);
    await page.evaluate(async () => {
      window.objects = await window.api.connectRooms();
    });
    await use(page);
  },
});

test('[SUITE1] a suite seeds, looks, and goes back to a state it marked', async ({ page }) => {
  const seen = await page.evaluate(async () => {
    const { objects } = window;
    const room = objects.env.Room.getByName('a');
    await room.add(5);
    const storage = await objects.storage(room);
    await storage.put('seeded', new Set([1]));
    await storage.sql.exec('CREATE TABLE t(x); INSERT INTO t VALUES (7)').ready;
    const mark = await storage.getCurrentBookmark();
    await room.add(90);
    await storage.sql.exec('DELETE FROM t').ready;
    await storage.onNextSessionRestoreBookmark(mark);
    await storage.abort();
    return {
      sum: await room.add(0),
      seeded: [...((await storage.get<Set<number>>('seeded')) ?? [])],
      rows: await storage.sql.exec('SELECT x FROM t').toArray(),
      listed: (await objects.list('Room')).map(({ id }) => id.name),
    };
  });
  expect(seen).toEqual({ sum: 5, seeded: [1], rows: [{ x: 7 }], listed: ['a'] });
});

test('[SUITE1] a suite seeds with a file, and begins again', { tag: [REST, RELEASE] }, async ({
  page,
}) => {
  const seen = await page.evaluate(async () => {
    const { objects } = window;
    const [first, second] = ['first', 'second'].map((name) => objects.env.Room.getByName(name));
    await first!.add(5);
    const file = await (await objects.storage(first!)).exportDatabase();
    const storage = await objects.storage(second!);
    await storage.importDatabase(file);
    const imported = await second!.add(1);
    await objects.deleteObject(second!);
    return [imported, await second!.add(1)];
  });
  expect(seen).toEqual([6, 1]);
});

test('[SUITE1] a suite stops time, and moves it', { tag: [REST, RELEASE] }, async ({ page }) => {
  const seen = await page.evaluate(async () => {
    const { env, clock } = window.objects;
    const room = env.Room.getByName('a');
    await clock.set(Date.UTC(2030, 0, 1));
    await room.remind(60_000);
    await clock.advance(59_999);
    const before = await room.remindedAt();
    await clock.advance(1);
    await room.remind(5000);
    const ran = await clock.runNextAlarm();
    return { before, after: await room.remindedAt(), ran: ran?.dueTime };
  });
  const at = Date.UTC(2030, 0, 1) + 65_000;
  expect(seen).toEqual({ before: undefined, after: at, ran: at });
});

test('[SUITE1] a suite loses an object’s memory, its worker, and the tab that leads', {
  tag: [LONG, ONCE],
}, async ({ context, page, server }) => {
  const seen = await page.evaluate(async () => {
    const { objects } = window;
    const room = objects.env.Room.getByName('a');
    const made = await room.made();
    await (await objects.storage(room)).abort();
    const isNew = (await room.made()) !== made;
    const pending = room.wait().catch(({ code }) => code);
    await room.add(1);
    window.api.workers.at(-1)!.terminate();
    return [isNew, await pending, await room.add(1)];
  });
  expect(seen).toEqual([true, 'CONNECTION_CLOSED', 2]);

  const other = await openBlank(await context.newPage(), server);
  await other.evaluate(async () => {
    window.objects = await window.api.connectRooms();
  });
  await page.close();
  // The other page may ask before it has learned of it: then it is told, and asks again.
  const sum = await other.evaluate(async () => {
    const read = () => window.objects.env.Room.getByName('a').add(0);
    return read().catch((error) => (error.retryable ? read() : Promise.reject(error)));
  });
  expect(sum).toBe(2);
});
