// A full disk, as the browser's quota makes it. Only Chromium lets a test set the quota.

import { randomBytes } from 'node:crypto';
import type { BrowserContext } from '@playwright/test';
import type { DurableObjectStub } from '../../src/shared/contract/object.ts';
import { openBlank, whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';
import type { Room } from './pages/objects-worker.ts';

/** A page whose origin has 4 MB, and sets its quota: without a size, it is the browser's own again. */
async function onSmallDisk(context: BrowserContext, server: Served) {
  const page = await openBlank(await context.newPage(), server);
  const cdp = await context.newCDPSession(page);
  const setQuota = (quotaSize?: number) =>
    cdp.send('Storage.overrideQuotaForOrigin', {
      origin: server.origin,
      ...(quotaSize !== undefined && { quotaSize }),
    });
  // Set before the first write: after it, Chromium's IndexedDB goes on with the room it was told, for a while.
  await setQuota(4_000_000);
  return { page, setQuota };
}

test('[FULL1] a full disk is DISK_FULL, loses nothing, and the object works on when there is room', async ({
  context,
  server,
}) => {
  const page = await openBlank(await context.newPage(), server);
  await page.evaluate(async () => {
    const storage = await window.api.openStorage('full');
    await storage.put('kept', 'before');
    await storage.sql.exec('CREATE TABLE t(x)').ready;
  });
  const cdp = await context.newCDPSession(page);
  const { usage = 0 } = await page.evaluate(() => navigator.storage.estimate());
  await cdp.send('Storage.overrideQuotaForOrigin', {
    origin: server.origin,
    quotaSize: usage + 6 * 1024 * 1024,
  });

  const { error, rows, kept } = await page.evaluate(async () => {
    const storage = await window.api.openStorage('full');
    let written = 0;
    let error: { name: string; code: string } | undefined;
    while (error === undefined && written < 2000) {
      try {
        await storage.sql.exec('INSERT INTO t VALUES (randomblob(100000))').ready;
        written += 1;
      } catch (thrown) {
        error = thrown as never;
      }
    }
    const { n } = await storage.sql.exec<{ n: number }>('SELECT count(*) n FROM t').one();
    return {
      error: error && { name: error.name, code: error.code },
      rows: { written, found: n },
      kept: await storage.get('kept'),
    };
  });
  expect(error).toEqual({ name: 'Error', code: 'DISK_FULL' });
  expect(rows.found).toBe(rows.written);
  expect(kept).toBe('before');

  await cdp.send('Storage.overrideQuotaForOrigin', { origin: server.origin });
  const after = await page.evaluate(async () => {
    const storage = await window.api.openStorage('full');
    await storage.sql.exec('INSERT INTO t VALUES (randomblob(100000))').ready;
    const { quick_check } = await storage.sql.exec('PRAGMA quick_check').one();
    const { n } = await storage.sql.exec<{ n: number }>('SELECT count(*) n FROM t').one();
    return { quick_check, n };
  });
  expect(after).toEqual({ quick_check: 'ok', n: rows.written + 1 });
});

test('[FULL1] [STUB46] pages go on with the stubs that they had when the disk was full', {
  tag: REST,
}, async ({ context, server }) => {
  const page = await openBlank(await context.newPage(), server);
  const other = await openBlank(await context.newPage(), server);
  for (const tab of [page, other]) {
    await tab.evaluate(async () => {
      const { env } = await window.api.connectRooms();
      const room = env.Room.getByName('a');
      await room.sum();
      Object.assign(window, { room });
    });
  }
  const cdp = await context.newCDPSession(page);
  const { usage = 0 } = await page.evaluate(() => navigator.storage.estimate());
  const { origin } = server;
  await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: usage + 300_000 });
  const full = await page.evaluate(async () => {
    const { room } = window as unknown as { room: DurableObjectStub<Room> };
    for (let written = 0; written < 100; written++) {
      try {
        await room.fill(`fill ${written}`);
      } catch (error) {
        // Reads need no room: the stub reaches the next instance at once.
        return { code: (error as { code: string }).code, written, sum: await room.sum() };
      }
    }
    return null;
  });
  expect(full).toEqual({ code: 'DISK_FULL', written: full!.sum, sum: full!.sum });

  await cdp.send('Storage.overrideQuotaForOrigin', { origin });
  const sums = [];
  for (const tab of [page, other, page]) {
    sums.push(
      await tab.evaluate(async () => {
        const { room } = window as unknown as { room: DurableObjectStub<Room> };
        return [await room.fill(`fill ${crypto.randomUUID()}`), await room.filled()];
      }),
    );
  }
  expect(sums).toEqual([1, 2, 3].map((more) => [full!.sum + more, full!.sum + more]));
});

test('[FULL1] on IndexedDB, a full disk is DISK_FULL, loses nothing, and the object works on when there is room', {
  tag: [LONG, RELEASE],
}, async ({ context, server }) => {
  const { page, setQuota } = await onSmallDisk(context, server);

  const full = await page.evaluate(async () => {
    const storage = await window.api.openStorage('full', { medium: 'indexeddb' });
    await storage.put('kept', 'before');
    await storage.sql.exec('CREATE TABLE t(x)').ready;
    let written = 0;
    let code: unknown;
    while (code === undefined && written < 500) {
      try {
        await storage.sql.exec('INSERT INTO t VALUES (randomblob(100000))').ready;
        written += 1;
      } catch (error) {
        code = (error as { code?: string }).code ?? String(error);
      }
    }
    const { n } = await storage.sql.exec<{ n: number }>('SELECT count(*) n FROM t').one();
    return { code, written, found: n, kept: await storage.get('kept') };
  });
  expect(full.code).toBe('DISK_FULL');
  expect(full.kept).toBe('before');
  expect(full.found).toBe(full.written);

  await setQuota();
  const look = async () => {
    const storage = await window.api.openStorage('full', { medium: 'indexeddb' });
    await storage.sql.exec('INSERT INTO t VALUES (randomblob(100000))').ready;
    const { quick_check } = await storage.sql.exec('PRAGMA quick_check').one();
    const { n } = await storage.sql.exec<{ n: number }>('SELECT count(*) n FROM t').one();
    return [quick_check, n, await storage.get('kept')];
  };
  expect(await page.evaluate(look)).toEqual(['ok', full.written + 1, 'before']);
  await page.reload();
  await page.waitForFunction(() => 'api' in window);
  expect(await page.evaluate(look)).toEqual(['ok', full.written + 2, 'before']);
});

test('[FULL4] on a full IndexedDB, stored objects are opened, read, listed, exported and deleted, also after a reload', {
  tag: LONG,
}, async ({ context, server }) => {
  const { page, setQuota } = await onSmallDisk(context, server);

  const bookmark = await page.evaluate(async () => {
    const objects = await window.api.connectRooms({ medium: 'indexeddb' });
    for (const name of ['full', 'other', 'left', 'spare']) {
      const storage = await objects.storage(objects.env.Room.getByName(name));
      for (const value of ['earlier', 'kept']) await storage.put('key', value);
      await storage.sql.exec('CREATE TABLE t(x)').ready;
      await storage.sql.exec('INSERT INTO t VALUES (randomblob(1000))').ready;
    }
    const storage = await objects.storage(objects.env.Room.getByName('full'));
    return await storage.getCurrentBookmark();
  });
  // Some refusals: Chromium asks for the quota again when a write is larger than the room that it remembers.
  const refused = async (sizes: number[]) => {
    const objects = await window.api.connectRooms({ medium: 'indexeddb' });
    const storage = await objects.storage(objects.env.Room.getByName('full'));
    const codes: unknown[] = [];
    for (const size of sizes) {
      const code = await storage.sql.exec('INSERT INTO t VALUES (randomblob(?))', size).ready.then(
        () => 'ok',
        (error) => error.code ?? String(error),
      );
      codes.push(code);
    }
    return codes;
  };
  await setQuota(1);
  const sizes = [4_000_000, 10_000, 10, 10];
  expect(await page.evaluate(refused, sizes)).toEqual(Array(4).fill('DISK_FULL'));

  const look = async (bookmark: string) => {
    const objects = await window.api.connectRooms({ medium: 'indexeddb' });
    const found: Record<string, unknown> = {};
    for (const name of ['full', 'other', 'left']) {
      const storage = await objects.storage(objects.env.Room.getByName(name));
      const { n } = await storage.sql.exec<{ n: number }>('SELECT count(*) n FROM t').one();
      found[name] = [await storage.get('key'), n, await objects.env.Room.getByName(name).sum()];
    }
    const storage = await objects.storage(objects.env.Room.getByName('full'));
    const moment = await storage.at(bookmark);
    const { n } = await moment.sql.exec<{ n: number }>('SELECT count(*) n FROM t').one();
    const commits = (await storage.history({ limit: 3 })).length;
    const exported = (await storage.exportDatabase()).byteLength > 4096;
    const listed = (await objects.list('Room')).length;
    return { ...found, at: n, commits, exported, listed };
  };
  const found = {
    full: ['kept', 1, 0],
    other: ['kept', 1, 0],
    left: ['kept', 1, 0],
    at: 1,
    commits: 3,
    exported: true,
  };
  expect(await page.evaluate(look, bookmark)).toEqual({ ...found, listed: 4 });
  for (let reload = 0; reload < 2; reload++) {
    await page.reload();
    await whenLoaded(page);
    expect(await page.evaluate(look, bookmark)).toEqual({ ...found, listed: 4 });
    expect(await page.evaluate(refused, [10_000, 10])).toEqual(Array(2).fill('DISK_FULL'));
  }
  await page.evaluate(async () => {
    const objects = await window.api.connectRooms({ medium: 'indexeddb' });
    await objects.deleteObject(objects.env.Room.getByName('spare'));
  });
  expect(await page.evaluate(look, bookmark)).toEqual({ ...found, listed: 3 });

  await setQuota();
  await page.evaluate(async () => {
    const objects = await window.api.connectRooms({ medium: 'indexeddb' });
    const storage = await objects.storage(objects.env.Room.getByName('full'));
    await storage.put('key', 'later');
  });
  await page.reload();
  await whenLoaded(page);
  expect(await page.evaluate(look, bookmark)).toMatchObject({
    full: ['later', 1, 0],
    at: 1,
    listed: 3,
  });
});

// Chromium counts an open file as the next power of two: where the last doubling of the log does not fit differs.
for (const megabytes of [80, 60, 20]) {
  test(`[LOG13] bursts of writes near a quota of ${megabytes} MB give up history, and none is refused`, {
    tag: megabytes === 20 ? LONG : [LONG, RELEASE],
  }, async ({ profile, server }) => {
    const context = await profile.launch();
    const page = await openBlank(await profile.newPage(), server);
    const cdp = await context.newCDPSession(page);
    const { origin } = server;
    await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: megabytes * 1_000_000 });
    const { outcomes, prunedCount, last } = await page.evaluate(async () => {
      const storage = await window.api.openStorage('bursts');
      let prunedCount = 0;
      storage.addEventListener('historypruned', () => {
        prunedCount += 1;
      });
      const noise = new Uint8Array(50_000);
      /** 200 commits over 100 keys: a database of 5 MB, and 20 MB of history. */
      const burst = async (number: number) => {
        for (let i = 0; i < 200; i++) {
          crypto.getRandomValues(noise);
          noise[0] = number;
          await storage.put(`key${i % 100}`, noise);
        }
      };
      const outcomes: string[] = [];
      for (let number = 1; number <= 12; number++) {
        outcomes.push(
          await burst(number).then(
            () => 'ok',
            (error) => `${error.code}: ${error.message}`,
          ),
        );
      }
      const values = await storage.list<Uint8Array>();
      return { outcomes, prunedCount, last: [...values.values()].map((value) => value[0]) };
    });
    expect(outcomes).toEqual(Array(12).fill('ok'));
    expect(prunedCount).toBeGreaterThan(0);
    expect(last).toEqual(Array(100).fill(12));
  });
}

for (const quotaSize of [1, 1024, 100 * 1024, 1024 * 1024]) {
  test(`[FULL2] a quota of ${quotaSize} bytes is DISK_FULL or enough, from the first call on`, {
    tag: quotaSize === 1 || quotaSize === 100 * 1024 ? LONG : [LONG, RELEASE],
  }, async ({ context, server }) => {
    const page = await openBlank(await context.newPage(), server);
    const cdp = await context.newCDPSession(page);
    const { origin } = server;
    await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize });
    const outcomes = await page.evaluate(async () => {
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => 'ok',
          (error) => error.code ?? `${error.name}: ${error.message}`,
        );
      const put = async () => (await window.api.openStorage('small')).put('key', 'value');
      const call = async () => (await window.api.connectRooms()).env.Room.getByName('a').add(1);
      const outcomes = [];
      for (const act of [put, call, put, call]) outcomes.push(await codeOf(act()));
      return outcomes;
    });
    for (const outcome of outcomes) expect(['ok', 'DISK_FULL']).toContain(outcome);
    if (quotaSize < 4096) expect(outcomes).toContain('DISK_FULL');

    await cdp.send('Storage.overrideQuotaForOrigin', { origin });
    const added = await page.evaluate(async () => {
      await (await window.api.openStorage('small')).put('key', 'value');
      const { env } = await window.api.connectRooms();
      return await env.Room.getByName('b').add(2);
    });
    expect(added).toBe(2);
  });
}

/** More bytes than are used; a negative number leaves the site over its quota. */
for (const freeBytes of [-100_000, 0, 1500, 5000]) {
  test(`[FULL3] [FULL4] with ${freeBytes} bytes free, a worker and new objects that start are DISK_FULL or work, and data is kept`, {
    tag: freeBytes === 0 ? REST : [LONG, RELEASE],
  }, async ({ context, server }) => {
    const { origin } = server;
    const before = await openBlank(await context.newPage(), server);
    await before.evaluate(async () => {
      await (await window.api.openStorage('kept')).put('key', 'value');
      await (await window.api.connectRooms()).env.Room.getByName('kept').add(1);
    });
    await before.close();
    const page = await openBlank(await context.newPage(), server);
    const cdp = await context.newCDPSession(page);
    const { usage = 0 } = await page.evaluate(() => navigator.storage.estimate());
    await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: usage + freeBytes });
    const outcomes = await page.evaluate(async () => {
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => 'ok',
          (error) => error.code ?? `${error.name}: ${error.message}`,
        );
      const { openStorage, connectRooms } = window.api;
      const room = async (name: string) => (await connectRooms()).env.Room.getByName(name);
      return {
        connect: await codeOf(connectRooms()),
        newRoom: await codeOf(room('new').then((room) => room.add(1))),
        alarm: await codeOf(room('alarm').then((room) => room.remind(100_000))),
        newObject: await codeOf(openStorage('new').then((storage) => storage.put('a', 1))),
        oldObject: await codeOf(openStorage('kept').then((storage) => storage.get('key'))),
      };
    });
    for (const outcome of Object.values(outcomes)) expect(['ok', 'DISK_FULL']).toContain(outcome);
    // Stored values can be read, however full the disk is.
    expect([outcomes.connect, outcomes.oldObject]).toEqual(['ok', 'ok']);
    expect([outcomes.newRoom, outcomes.alarm, outcomes.newObject]).toEqual(
      Array(3).fill('DISK_FULL'),
    );

    await cdp.send('Storage.overrideQuotaForOrigin', { origin });
    const after = await page.evaluate(async () => {
      const { env } = await window.api.connectRooms();
      const kept = await (await window.api.openStorage('kept')).get('key');
      return [
        kept,
        await env.Room.getByName('kept').add(1),
        await env.Room.getByName('new').add(1),
      ];
    });
    expect(after).toEqual(['value', 2, 1]);
  });
}

test('[DEMO7] the playground tells of a full disk in the panel where it happened, keeps stored data, and works on', {
  tag: [LONG, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  await page.goto(demoSite.origin);
  await page.getByLabel('Example').selectOption({ label: 'Queue with an alarm' });
  const task = page.getByLabel('task of push');
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const log = page.getByRole('list', { name: 'Entries, the newest first' });
  await task.fill('a letter');
  await button('push').click();
  await expect(page.getByRole('list', { name: 'Objects' })).toContainText('Queue “first”');

  const cdp = await context.newCDPSession(page);
  const { origin } = demoSite;
  await cdp.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1024 });
  // The log omits repeated bytes.
  const noise = randomBytes(2 ** 20).toString('hex');
  await task.fill(noise.slice(0, 200_000));
  // Files grow by more than is asked for, so the first calls may find room.
  await expect(async () => {
    await button('push').click();
    await expect(log).toContainText('DISK_FULL', { timeout: 500 });
  }).toPass();

  await page.getByText('Inspector: change values').click();
  const tab = (name: string) => page.getByRole('tab', { name, exact: true }).click();
  const alert = page.getByRole('tabpanel').getByRole('alert');
  await tab('SQL');
  const blobs = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 10)';
  const sql = page.getByRole('textbox', { name: 'SQL' });
  await sql.fill(`CREATE TABLE big AS ${blobs} SELECT randomblob(1000000) AS b FROM n`);
  await sql.press('Control+Enter');
  await expect(alert).toContainText('DISK_FULL');
  await tab('Files');
  const lines = noise.match(/.{1000}/g)!.join('\n');
  await page.getByLabel('Open a file, or drop it here').setInputFiles({
    name: 'noise.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`text\n${lines}`),
  });
  await button('Import').click();
  await expect(alert).toContainText('DISK_FULL');

  await cdp.send('Storage.overrideQuotaForOrigin', { origin });
  await task.fill('a parcel');
  await button('push').click();
  await button('jobs').click();
  await expect(log).toContainText(/a letter.*a parcel/s);
});
