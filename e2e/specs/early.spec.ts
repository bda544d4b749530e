// Handles that are there before a worker: what was kept at the last visit is shown until the worker answers, and
// never to others, nor after its object was deleted.

import type { BrowserContext, Page } from '@playwright/test';
import { whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { BLANK_PATH, type Served } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';

const QUERY = 'SELECT id, body FROM note ORDER BY id';

interface Visit {
  readonly early?: boolean;
  readonly identity?: string | null;
  readonly keepResults?: boolean;
  readonly isPrivate?: boolean;
}

/** The states of the live read, without those of the same status and value; and the events of the handle. */
interface Seen {
  readonly states: readonly (readonly [status: string, bodies: readonly string[] | null])[];
  readonly failures: number;
}

declare global {
  interface Window {
    early: {
      readonly seen: Seen;
      readonly storage: Awaited<ReturnType<Window['api']['openStorage']>>;
      readonly leave: () => void;
    };
    /** How many transactions of IndexedDB have ended on the page, since `noteLooks`. */
    looksEnded: number;
  }
}

/** Opens the handle and follows the notes. */
async function visit(page: Page, options: Visit = {}): Promise<void> {
  await page.evaluate(
    async ({ query, options: { isPrivate = false, ...options } }) => {
      const failures: object[] = [];
      const states: [string, string[] | null][] = [];
      const storage = await window.api.openStorage('notes', {
        early: true,
        prepare: (opened) =>
          window.api.migrate(opened, [
            { name: 'notes', up: 'CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)' },
          ]),
        ...options,
      });
      storage.addEventListener('keepfailed', ({ detail }) => failures.push(detail));
      const read = storage.sql.live<{ id: number; body: string }>(query);
      const live = isPrivate ? read.asPrivate() : read;
      const seen = () => {
        const { status, value } = live.getState();
        states.push([status, value?.map(({ body }) => body) ?? null]);
      };
      const leave = live.subscribe(seen, { onError: seen });
      const given = { states, failures: 0 };
      storage.addEventListener('keepfailed', () => {
        given.failures = failures.length;
      });
      window.early = { seen: given, storage, leave };
    },
    { query: QUERY, options },
  );
}

const statesOf = (page: Page) => page.evaluate(() => window.early.seen.states);
const failuresOf = (page: Page) => page.evaluate(() => window.early.seen.failures);
const add = (page: Page, body: string) =>
  page.evaluate(
    (text) => window.early.storage.sql.exec('INSERT INTO note(body) VALUES (?)', text).ready,
    body,
  );

/** Returns the users and sizes of all kept results. */
const keptOn = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<string[]>((resolve, reject) => {
        const opening = indexedDB.open('ctx-storage-kept');
        opening.onerror = () => resolve([]);
        opening.onupgradeneeded = () => opening.transaction!.abort();
        opening.onsuccess = () => {
          const database = opening.result;
          const keys = database.transaction('results').objectStore('results').getAllKeys();
          keys.onerror = () => reject(keys.error);
          keys.onsuccess = () => {
            database.close();
            resolve((keys.result as unknown as string[][]).map((key) => key[3]!));
          };
        };
      }),
  );

/** The kept bytes contain this text. */
const keeps = (page: Page, text: string) =>
  page.evaluate(
    (wanted) =>
      new Promise<boolean>((resolve) => {
        const opening = indexedDB.open('ctx-storage-kept');
        opening.onerror = () => resolve(false);
        opening.onupgradeneeded = () => opening.transaction!.abort();
        opening.onsuccess = () => {
          const database = opening.result;
          const all = database.transaction('results').objectStore('results').getAll();
          all.onsuccess = () => {
            database.close();
            const texts = (all.result as { bytes: Uint8Array }[]).map(({ bytes }) =>
              Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''),
            );
            resolve(texts.some((each) => each.includes(wanted)));
          };
        };
      }),
    text,
  );

/** Notes when the page has looked for what is kept: in a transaction, whose result is shown before the next task. */
const noteLooks = (page: Page) =>
  page.evaluate(() => {
    window.looksEnded = 0;
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (...parameters) {
      const transaction = begin.apply(this, parameters);
      transaction.addEventListener('complete', () => {
        window.looksEnded += 1;
      });
      return transaction;
    };
  });

/** Holds the scripts of workers back, until the result is called. The chunks that pages share with them have other names. */
async function heldWorkers(context: BrowserContext): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await context.route(/worker\.ts(\.js)?(\?[^/]*)?$/, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

async function openPage(context: BrowserContext, server: Served): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${server.origin}${BLANK_PATH}`);
  await whenLoaded(page);
  return page;
}

/** A visit that leaves one note and what is kept of it. */
async function firstVisit(page: Page, options: Visit = {}): Promise<void> {
  await visit(page, options);
  await expect
    .poll(() => statesOf(page))
    .toEqual([
      ['pending', null],
      ['ready', []],
    ]);
  await add(page, 'milk');
  await expect.poll(async () => (await statesOf(page)).at(-1)).toEqual(['ready', ['milk']]);
}

test('[LIVE19] rows of the last visit are shown before the worker is loaded, then those of the worker', async ({
  profile,
  server,
}) => {
  const context = await profile.launch();
  const page = await openPage(context, server);
  await firstVisit(page);
  await expect.poll(() => keeps(page, 'milk')).toBe(true);

  const release = await heldWorkers(context);
  await page.reload();
  await whenLoaded(page);
  await visit(page);
  await expect
    .poll(() => statesOf(page))
    .toEqual([
      ['pending', null],
      ['stale', ['milk']],
    ]);
  expect(await page.evaluate(() => window.early.storage.state)).toBe('connecting');
  // A write made meanwhile waits for the worker, and is in its first result or the next one.
  const written = add(page, 'bread');
  release();
  await written;
  await expect
    .poll(async () => (await statesOf(page)).at(-1))
    .toEqual(['ready', ['milk', 'bread']]);
  const states = await statesOf(page);
  expect(states.slice(2).every(([status]) => status === 'ready')).toBe(true);
  expect(await failuresOf(page)).toBe(0);
});

test('[LIVE28] a note written before the worker is there is kept, on the first visit and after a new migration', {
  tag: REST,
}, async ({ profile, server }) => {
  const context = await profile.launch();
  const page = await openPage(context, server);
  const NOTE = { name: 'notes', up: 'CREATE TABLE note(body TEXT)' };
  const TAG = { name: 'tags', up: "ALTER TABLE note ADD COLUMN tag TEXT DEFAULT 'none'" };
  const write = (migrations: readonly (typeof NOTE)[], query: string) =>
    page.evaluate(
      async ([steps, sql]) => {
        const storage = await window.api.openStorage('released', {
          early: true,
          prepare: (opened) => window.api.migrate(opened, steps),
        });
        await storage.sql.exec(sql).ready;
        return await storage.sql.exec('SELECT * FROM note').raw().toArray();
      },
      [migrations, query] as const,
    );
  expect(await write([NOTE], "INSERT INTO note VALUES ('milk')")).toEqual([['milk']]);
  await page.reload();
  await whenLoaded(page);
  expect(await write([NOTE, TAG], "INSERT INTO note VALUES ('bread', 'food')")).toEqual([
    ['milk', 'none'],
    ['bread', 'food'],
  ]);
});

test('[LIVE20] nothing is shown of an object that was emptied, restored or imported since', {
  tag: [LONG, ONCE],
}, async ({ profile, server }) => {
  const context = await profile.launch();
  const page = await openPage(context, server);
  for (const change of ['deleteAll', 'restore', 'importDatabase'] as const) {
    await visit(page);
    await expect.poll(async () => (await statesOf(page)).at(-1)![0]).toBe('ready');
    await add(page, change);
    await expect.poll(() => keeps(page, change)).toBe(true);
    // Write without a live read, which would keep its next result.
    await page.evaluate(async (change) => {
      const { storage, leave } = window.early;
      const bookmark = await storage.getCurrentBookmark();
      const database = await storage.exportDatabase();
      leave();
      if (change === 'deleteAll') await storage.deleteAll();
      else if (change === 'restore') await storage.restore(bookmark);
      else await storage.importDatabase(database);
    }, change);
    expect(await keptOn(page), change).toEqual([]);
    await page.reload();
    await whenLoaded(page);
  }
});

test('[LIVE21] a result is shown to nobody but the user for whom it was kept, and deleted for others', {
  tag: LONG,
}, async ({ profile, server }) => {
  const context = await profile.launch();
  let page = await openPage(context, server);
  await firstVisit(page, { identity: 'alice' });
  await expect.poll(() => keeps(page, 'milk')).toBe(true);
  expect(await keptOn(page)).toEqual(['=alice']);
  const release = await heldWorkers(context);
  // In a new page: Firefox does not always reload one whose worker's script is held back.
  const again = async (options: Visit) => {
    await page.close();
    page = await openPage(context, server);
    await noteLooks(page);
    await visit(page, options);
  };
  await again({});
  await expect.poll(() => page.evaluate(() => window.looksEnded)).toBeGreaterThan(0);
  expect(await statesOf(page)).toEqual([['pending', null]]);
  expect(await keptOn(page)).toEqual(['=alice']);
  await again({ identity: 'alice' });
  await expect
    .poll(() => statesOf(page))
    .toEqual([
      ['pending', null],
      ['stale', ['milk']],
    ]);
  await again({ identity: 'bob' });
  await expect.poll(() => keptOn(page)).toEqual([]);
  expect(await statesOf(page)).toEqual([['pending', null]]);
  release();
  await expect.poll(async () => (await statesOf(page)).at(-1)).toEqual(['ready', ['milk']]);
  await expect.poll(() => keptOn(page)).toEqual(['=bob']);

  await again({ identity: null });
  await expect.poll(() => keptOn(page)).toEqual([]);
  await expect
    .poll(() => statesOf(page))
    .toEqual([
      ['pending', null],
      ['ready', ['milk']],
    ]);
  await add(page, 'bread');
  await expect
    .poll(async () => (await statesOf(page)).at(-1))
    .toEqual(['ready', ['milk', 'bread']]);
  expect(await keptOn(page)).toEqual([]);
});

test('[LIVE22] nothing is kept of a private read, and of no read with keepResults: false', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ profile, server }) => {
  const context = await profile.launch();
  const page = await openPage(context, server);
  const again = async (options: Visit) => {
    await page.reload();
    await whenLoaded(page);
    await visit(page, options);
    await expect.poll(async () => (await statesOf(page)).at(-1)).toEqual(['ready', ['milk']]);
  };
  await firstVisit(page);
  await expect.poll(() => keptOn(page)).toEqual(['']);
  await again({ isPrivate: true });
  await expect.poll(() => keptOn(page)).toEqual([]);
  await again({});
  await expect.poll(() => keptOn(page)).toEqual(['']);
  await again({ keepResults: false });
  await expect.poll(() => keptOn(page)).toEqual([]);
});

test('[LIVE23] what cannot be read is not shown, and told; the rest goes on', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ profile, server }) => {
  const context = await profile.launch();
  const page = await openPage(context, server);
  await firstVisit(page);
  await expect.poll(() => keeps(page, 'milk')).toBe(true);
  const again = async (before: () => void) => {
    await page.reload();
    await whenLoaded(page);
    await page.evaluate(before);
    await visit(page);
    await expect.poll(async () => (await statesOf(page)).at(-1)).toEqual(['ready', ['milk']]);
    expect((await statesOf(page)).map(([status]) => status)).toEqual(['pending', 'ready']);
    await expect.poll(() => failuresOf(page)).toBe(1);
  };
  await page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const opening = indexedDB.open('ctx-storage-kept');
        opening.onsuccess = () => {
          const transaction = opening.result.transaction('results', 'readwrite');
          const store = transaction.objectStore('results');
          const keys = store.getAllKeys();
          keys.onsuccess = () => {
            const broken = { bytes: new Uint8Array([255, 1, 2, 3]), keptMs: Date.now() };
            store.put(broken, keys.result[0]!);
          };
          transaction.oncomplete = () => {
            opening.result.close();
            resolve();
          };
        };
      }),
  );
  await again(() => {});
  // A browser that refuses IndexedDB to the page: in some private modes, or with site data blocked.
  await again(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('refused', 'SecurityError');
    };
  });
  // A later version of something has taken the name.
  await again(() => {
    const open = IDBFactory.prototype.open;
    IDBFactory.prototype.open = function (name) {
      const request = open.call(this, 'other', 2);
      if (name !== 'ctx-storage-kept') return open.call(this, name);
      return new Proxy(request, {
        set: (target, key, value) => {
          if (key === 'onerror') setTimeout(() => value(new Event('error')));
          else if (key !== 'onsuccess') Reflect.set(target, key, value);
          return true;
        },
        get: (_target, key) => (key === 'error' ? new DOMException('newer', 'VersionError') : null),
      });
    };
  });
});

test('[LIVE24] the database can be deleted while pages and workers are open, as by a logout', {
  tag: [LONG, RELEASE],
}, async ({ profile, server }) => {
  const context = await profile.launch();
  const page = await openPage(context, server);
  await firstVisit(page);
  await expect.poll(() => keeps(page, 'milk')).toBe(true);
  const deleted = () =>
    page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const deleting = indexedDB.deleteDatabase('ctx-storage-kept');
          deleting.onsuccess = () => resolve('deleted');
          deleting.onerror = () => resolve('failed');
        }),
    );
  expect(await deleted()).toBe('deleted');
  expect(await keptOn(page)).toEqual([]);
  await add(page, 'bread');
  await expect.poll(() => keeps(page, 'bread')).toBe(true);
  expect(await failuresOf(page)).toBe(0);
});

test('[LIVE25] the last result is kept, whichever tab wrote it, and whoever led', {
  tag: [LONG, RELEASE],
}, async ({ profile, server }) => {
  const context = await profile.launch();
  const [one, two] = [await openPage(context, server), await openPage(context, server)] as const;
  await firstVisit(one);
  await expect.poll(() => keeps(one, 'milk')).toBe(true);
  // From now on the leader has no live read of its own page: what is kept is of the other one.
  await one.evaluate(() => window.early.leave());
  await visit(two);
  await add(two, 'bread');
  await expect.poll(async () => (await statesOf(two)).at(-1)).toEqual(['ready', ['milk', 'bread']]);
  await expect.poll(() => keeps(two, 'bread')).toBe(true);
  expect(await one.evaluate(() => window.early.storage.state)).toBe('leading');
  await one.close();
  // A write that is under way when its leader goes rejects.
  await expect.poll(() => two.evaluate(() => window.early.storage.state)).toBe('leading');
  await add(two, 'eggs');
  await expect.poll(() => keeps(two, 'eggs')).toBe(true);
  await heldWorkers(context);
  const three = await openPage(context, server);
  await visit(three);
  await expect
    .poll(async () => (await statesOf(three))[1])
    .toEqual([expect.stringMatching('stale'), ['milk', 'bread', 'eggs']]);
});
