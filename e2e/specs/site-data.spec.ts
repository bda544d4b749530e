// Site data cleared while storage is open, as a user or a page does it, or a browser that evicts.

import type { Page } from '@playwright/test';
import { openBlank, whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { CLEAR_PATH } from '../browsers/server.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

const CLEARED = 'SITE_DATA_CLEARED';

/**
 * Writes until a write fails, then makes one call of each kind and returns their outcomes. `late`: how many writes
 * succeeded that began 250 ms after the folder was seen to be gone.
 */
async function callAll(page: Page): Promise<Readonly<Record<string, unknown>>> {
  return await page.evaluate(async () => {
    const { storage, room, folder } = window.opened;
    const codeOf = (call: Promise<unknown>) =>
      call.then(
        (value) => value,
        (error) => error.code ?? String(error),
      );
    const isGone = async () => {
      const root = await navigator.storage.getDirectory();
      const found = root.getDirectoryHandle(folder);
      return found.then(
        () => false,
        (error) => error?.name === 'NotFoundError',
      );
    };
    const startMs = performance.now();
    let first: unknown;
    let goneMs = Number.POSITIVE_INFINITY;
    const watch = async () => {
      while (first === undefined && goneMs === Number.POSITIVE_INFINITY) {
        if (await isGone()) goneMs = performance.now();
      }
    };
    void watch(); // the browser may leave a question unanswered
    let late = 0;
    for (let n = 0; first === undefined && performance.now() - startMs < 120_000; n++) {
      const isLate = performance.now() > goneMs + 250;
      first = await codeOf(storage.put('n', n));
      if (first === undefined && isLate) late += 1;
    }
    return {
      late,
      first,
      get: await codeOf(storage.get('kept')),
      call: await codeOf(room.getByName('cleared').add(1)),
      openStorage: await codeOf(window.api.openStorage('another')),
      connect: await codeOf(window.api.connectRooms()),
    };
  });
}

async function openAll(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const storage = await window.api.openStorage('cleared');
    await storage.put('kept', 'yes');
    const { env } = await window.api.connectRooms();
    await env.Room.getByName('cleared').add(1);
    const { value: folder } = await (await navigator.storage.getDirectory()).keys().next();
    window.opened = { storage, room: env.Room, folder: folder! };
  });
}

test('[DUR4] site data that is cleared is reported to every call of every tab, and a reload starts from nothing', {
  tag: REST,
}, async ({ profile, server }) => {
  const context = await profile.launch();
  const one = await openBlank(await context.newPage(), server);
  await openAll(one);
  const two = await openBlank(await context.newPage(), server);
  await openAll(two);

  await two.evaluate((path) => fetch(path).then(({ status }) => status), CLEAR_PATH);
  for (const page of [one, two]) {
    const { late, ...codes } = await callAll(page);
    expect(late).toBe(0);
    for (const [call, code] of Object.entries(codes)) expect(code, call).toBe(CLEARED);
  }

  await one.reload();
  await whenLoaded(one);
  const found = await one.evaluate(async () => {
    const { env } = await window.api.connectRooms();
    const storage = await window.api.openStorage('cleared');
    const kept = await storage.get('kept');
    await storage.put('kept', 'again');
    return [kept, await storage.get('kept'), await env.Room.getByName('cleared').add(1)];
  });
  expect(found).toEqual([undefined, 'again', 1]);
});

test('[DUR4] a page that did nothing meanwhile is told, although another has started again', {
  tag: [LONG, RELEASE],
}, async ({ profile, server }) => {
  // Chromium 156 answers nothing about these folders for half a minute of the deletion.
  const context = await profile.launch();
  const idle = await openBlank(await context.newPage(), server);
  await openAll(idle);
  const other = await openBlank(await context.newPage(), server);
  await other.evaluate(async (path) => {
    const sleep = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));
    const origin = async () => await navigator.storage.getDirectory();
    const names: string[] = [];
    for await (const name of (await origin()).keys()) names.push(name);
    /** 'ok', or why not. A question that the deletion swallows is asked again. */
    const ask = (name: string, create: boolean): Promise<string> =>
      Promise.race([
        origin()
          .then((root) => root.getDirectoryHandle(name, { create }))
          .then(
            () => 'ok',
            // Firefox 153 may reject with nothing while it deletes.
            (error) => String(error?.name),
          ),
        sleep(5000).then(() => 'not answered'),
      ]);
    const until = async (what: string, name: string, create: boolean, wanted: string) => {
      for (const startMs = performance.now(); ; await sleep(250)) {
        const answer = await ask(name, create);
        if (answer === wanted) return;
        const waitedMs = performance.now() - startMs;
        if (waitedMs > 60_000) throw new Error(`"${name}" is not ${what} after 60 s: ${answer}`);
      }
    };
    // The answer may come seconds later, when the idle objects are closed and their files looked for.
    void fetch(path);
    await Promise.all(names.map((name) => until('deleted', name, false, 'NotFoundError')));
    // Create the databases as the worker of a later page would; a database that is being deleted is refused.
    for (const name of names) await until('made again', name, true, 'ok');
  }, CLEAR_PATH);
  const { late, ...codes } = await callAll(idle);
  expect(late).toBe(0);
  for (const [call, code] of Object.entries(codes)) expect(code, call).toBe(CLEARED);
});

type Api = Window['api'];

declare global {
  interface Window {
    opened: {
      readonly storage: Awaited<ReturnType<Api['openStorage']>>;
      /** A folder of the site in the browser's file system. */
      readonly folder: string;
      readonly room: Awaited<ReturnType<Api['connectRooms']>>['env']['Room'];
    };
  }
}

test('[DUR7] when site data on IndexedDB is cleared, no error is left unhandled in a page or its worker', async ({
  context,
  server,
}) => {
  const page = await openBlank(await context.newPage(), server);
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  const code = await page.evaluate(async (path) => {
    const storage = await window.api.openStorage('cleared', { medium: 'indexeddb' });
    await storage.put('kept', 'yes');
    await fetch(path);
    for (;;) {
      const error = await storage.get('kept').then(
        () => undefined,
        (error) => error,
      );
      if (error !== undefined) return error.code;
    }
  }, CLEAR_PATH);
  expect(code).toBe('SITE_DATA_CLEARED');
  // An error that nothing handles is told in a later task than the call's own.
  expect(await page.evaluate(() => new Promise((done) => setTimeout(() => done('later'), 0)))).toBe(
    'later',
  );
  expect(errors).toEqual([]);
  await page.close();
});
