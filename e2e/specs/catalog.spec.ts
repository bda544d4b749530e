// The catalog of objects in IndexedDB: the behaviour of every catalog, and its loss when a browser
// deletes it.

import type { Page } from '@playwright/test';
import { openBlank, whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';
import type {} from './pages/catalog.ts';

async function loadCatalogs(page: Page): Promise<void> {
  await page.addScriptTag({ type: 'module', url: '/e2e/specs/pages/catalog.ts' });
  await page.waitForFunction(() => 'catalogs' in window);
}

test('[CAT1] in IndexedDB it behaves like every catalog', async ({ storagePage }) => {
  await loadCatalogs(storagePage);
  const results = await storagePage.evaluate(async () => {
    const { IdbCatalog, CATALOG_CASES } = window.catalogs;
    const seen = [];
    for (const { title, observe, expected } of CATALOG_CASES) {
      const catalog = await IdbCatalog.open(`catalog ${title}`);
      seen.push({ title, observed: await observe(catalog), expected });
      catalog.close();
    }
    return seen;
  });
  expect(results).not.toEqual([]);
  for (const { title, observed, expected } of results) expect(observed, title).toEqual(expected);
});

test('[CAT8] in IndexedDB it outlives the page', async ({ storagePage }) => {
  await loadCatalogs(storagePage);
  await storagePage.evaluate(async () => {
    const { IdbCatalog, entry } = window.catalogs;
    const catalog = await IdbCatalog.open('catalog reload');
    await catalog.add(entry('a', { wakeMs: 0, name: 'first' }));
  });
  await storagePage.reload();
  await whenLoaded(storagePage);
  await loadCatalogs(storagePage);
  const [wakes, expected] = await storagePage.evaluate(async () => {
    const { IdbCatalog, entry } = window.catalogs;
    const catalog = await IdbCatalog.open('catalog reload');
    return [await catalog.wakes(), [entry('a', { wakeMs: 0, name: 'first' })]];
  });
  expect(wakes).toEqual(expected);
});

test('[CAT8] deleted while it is used, it is an error until the next start, which finds it empty', async ({
  storagePage,
}) => {
  await loadCatalogs(storagePage);
  const seen = await storagePage.evaluate(async () => {
    const { IdbCatalog, entry } = window.catalogs;
    const codeOf = (error: { code: string; message: string }) => [error.code, error.message];
    const catalog = await IdbCatalog.open('catalog deleted');
    await catalog.add(entry('a'));
    await new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase('ctx-storage/catalog deleted');
      request.onsuccess = resolve;
      request.onerror = reject;
    });
    const failure = await catalog.add(entry('b')).catch(codeOf);
    const next = await IdbCatalog.open('catalog deleted');
    return [failure, await next.isEmpty()];
  });
  expect(seen).toEqual([['CONNECTION_CLOSED', expect.stringMatching(/deleted.*Repeat/)], true]);
});

test('[CAT8] a newer version of it takes it over, and cannot be opened by an older one', {
  tag: REST,
}, async ({ storagePage }) => {
  await loadCatalogs(storagePage);
  const seen = await storagePage.evaluate(async () => {
    const { IdbCatalog } = window.catalogs;
    const codeOf = (error: { code: string; message: string }) => [error.code, error.message];
    const catalog = await IdbCatalog.open('catalog newer');
    await new Promise((resolve, reject) => {
      const request = indexedDB.open('ctx-storage/catalog newer', 1000);
      request.onsuccess = resolve;
      request.onerror = reject;
    });
    return [
      await catalog.wakes().catch(codeOf),
      await IdbCatalog.open('catalog newer').catch(codeOf),
    ];
  });
  expect(seen).toEqual([
    ['CONNECTION_CLOSED', expect.stringContaining('newer version')],
    ['FORMAT_TOO_NEW', expect.stringContaining('newer format')],
  ]);
});

test('[CAT8] a browser that refuses IndexedDB is an error that says so', { tag: REST }, async ({
  storagePage,
}) => {
  await loadCatalogs(storagePage);
  const seen = await storagePage.evaluate(async () => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('The operation is insecure.', 'SecurityError');
    };
    const opened = window.catalogs.IdbCatalog.open('catalog refused');
    return opened.catch((error) => [error.code, error.message]);
  });
  expect(seen).toEqual(['OPFS_UNAVAILABLE', expect.stringContaining('operation is insecure')]);
});

for (const [name, message, freeBytes] of [
  ['AbortError', 'The transaction was aborted.', 0],
  ['UnknownError', 'Internal error opening backing store for indexedDB.open.', 4096],
  ['UnknownError', 'Encountered full disk while opening backing store.', 1e9],
] as const) {
  test(`[FULL3] a full disk that IndexedDB calls ${name}, with ${freeBytes} bytes free, is DISK_FULL`, {
    tag: name === 'AbortError' ? REST : [REST, RELEASE],
  }, async ({ storagePage }) => {
    await loadCatalogs(storagePage);
    const open = (name: string, message: string, freeBytes: number) =>
      storagePage.evaluate(
        ([name, message, freeBytes]) => {
          IDBFactory.prototype.open = () => {
            throw new DOMException(message, name);
          };
          StorageManager.prototype.estimate = async () => ({ usage: 1e6, quota: 1e6 + freeBytes });
          const opened = window.catalogs.IdbCatalog.open('catalog full');
          return opened.then(
            () => 'ok',
            (error) => error.code,
          );
        },
        [name, message, freeBytes] as const,
      );
    expect(await open(name, message, freeBytes)).toBe('DISK_FULL');
    expect(await open('SecurityError', 'The operation is insecure.', 0)).toBe('OPFS_UNAVAILABLE');
    expect(await open('UnknownError', 'Something else.', 1e9)).toBe('OPFS_UNAVAILABLE');
  });
}

for (const what of ['every database of the origin', 'the catalog alone']) {
  test(`[CAT9] another tab deletes ${what}: calls answer, alarms ring, and nothing is lost`, {
    tag: what === 'the catalog alone' ? [LONG, RELEASE] : LONG,
  }, async ({ profile, server }) => {
    test.setTimeout(90_000);
    const context = await profile.launch();
    const one = await openBlank(await context.newPage(), server);
    const two = await openBlank(await context.newPage(), server);
    for (const tab of [one, two]) {
      await tab.evaluate(async () => {
        const { env } = await window.api.connectRooms();
        window.rooms = env.Room;
        for (const name of ['a', 'b', 'c']) await env.Room.getByName(name).add(1);
      });
    }
    await one.evaluate(() => window.rooms.getByName('rings').remind(3000));
    await two.evaluate(async (all) => {
      for (const { name } of await indexedDB.databases()) {
        if (name === undefined || (!all && !name.startsWith('ctx-storage/'))) continue;
        await new Promise((resolve, reject) => {
          const request = indexedDB.deleteDatabase(name);
          request.onsuccess = resolve;
          request.onerror = reject;
        });
      }
    }, what.startsWith('every'));
    for (const tab of [two, one]) {
      const sums = await tab.evaluate(async () => {
        // A call under way when the worker ends may be repeated; a sum says if it was made.
        const answer = async (name: string): Promise<number> => {
          for (;;) {
            try {
              return await window.rooms.getByName(name).sum();
            } catch (error) {
              if ((error as { retryable?: boolean }).retryable !== true) throw error;
            }
          }
        };
        return [await answer('new'), await answer('a'), await answer('b'), await answer('c')];
      });
      expect(sums).toEqual([0, 2, 2, 2]);
    }
    // Asked by nobody: only the alarm opens it.
    const alarms = () =>
      one.evaluate(async () => {
        const { list } = await window.api.connectRooms();
        return (await list('Room')).filter(({ nextAlarm }) => nextAlarm !== null).length;
      });
    await expect.poll(alarms, { timeout: 60_000 }).toBe(0);
    const at = await one.evaluate(() => window.rooms.getByName('rings').remindedAt());
    expect(at).toBeGreaterThan(0);
  });
}

declare global {
  interface Window {
    rooms: Awaited<ReturnType<Window['api']['connectRooms']>>['env']['Room'];
  }
}
