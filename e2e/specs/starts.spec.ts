// How a page starts its worker, in real browsers: failed starts, and scripts that do not serve.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

/**
 * Far above the time that a slow machine needs for the 3 s and the second after it, far below the 30 s of
 * a search.
 */
const SECONDS_MS = 60_000;

interface Outcome {
  readonly code: string;
  readonly message: string;
  readonly tookMs: number;
}

/** Connects with a script of this text or at this address; how it fails. */
async function failedStart(page: Page, script: { text: string } | { url: string }) {
  return await page.evaluate(async (script): Promise<Outcome> => {
    const text = 'text' in script ? script.text : '';
    const blob = URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
    const url = 'url' in script ? script.url : blob;
    const startMs = performance.now();
    try {
      await window.api.connect(() => new Worker(url, { type: 'module' }), { directory: 'starts' });
    } catch (error) {
      const { code, message } = error as Error & { code: string };
      return { code, message, tookMs: performance.now() - startMs };
    }
    return { code: 'ok', message: '', tookMs: 0 };
  }, script);
}

/** Adds to a room of the same directory, with the right worker. */
async function add(page: Page): Promise<number> {
  return await page.evaluate(async () => {
    const { connect, startRooms } = window.api;
    const { env } = await connect<RoomClasses>(startRooms, { directory: 'starts' });
    return env.Room.getByName('a').add(1);
  });
}

type RoomClasses = import('./pages/objects-worker.ts').Classes;

const classesOnly = (origin: string) =>
  `import { DurableObject } from '${origin}/worker/start/entries/objects.ts';
   export class Room extends DurableObject {}`;

test('[START3] a script that does not call serve() is said to be so in seconds, and the next start heals it', {
  tag: LONG,
}, async ({ context, server }) => {
  const page = await openBlank(await context.newPage(), server);
  const outcome = await failedStart(page, { text: classesOnly(server.origin) });
  expect(outcome).toMatchObject({ code: 'WORKER_FAILED' });
  expect(outcome.message).toContain('has not called serve()');
  expect(outcome.tookMs).toBeLessThan(SECONDS_MS);
  expect(await add(page)).toBe(1);
});

test('[START3] a script that serves only after it has awaited something is waited for', {
  tag: [LONG, RELEASE],
}, async ({ context, server }) => {
  const page = await openBlank(await context.newPage(), server);
  const awaited = await startHeld();
  try {
    const text = `import { DurableObject, serve } from '${server.origin}/worker/start/entries/objects.ts';
      await fetch('${awaited.address}');
      serve({ Room: class Room extends DurableObject { add() { return 7; } } });`;
    let isOver = false;
    const outcome = failedStart(page, { text }).finally(() => {
      isOver = true;
    });
    await awaited.asked;
    // The page has turns meanwhile, and does not give up.
    await page.evaluate(() => fetch(location.href).then(() => {}));
    expect(isOver).toBe(false);
    awaited.answer();
    expect(await outcome).toMatchObject({ code: 'ok' });
  } finally {
    awaited.close();
  }
});

/** A server whose answer waits for `answer`; `asked` resolves when it was asked. */
async function startHeld() {
  let answer = () => {};
  let ask = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const server = createServer((_request, response) => {
    answer = () => {
      response.writeHead(200, { 'access-control-allow-origin': '*' }).end();
    };
    ask();
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return {
    address: `http://localhost:${(server.address() as AddressInfo).port}/`,
    asked,
    answer: () => answer(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

for (const [what, script, tag] of [
  ['an address that does not exist', { url: '/nowhere.js' }],
  ['a script that throws', { text: 'throw new Error("broken")' }, REST],
] as const) {
  test(`[START1] after ${what}, another function of the page is used`, { tag: tag ?? [] }, async ({
    context,
    server,
  }) => {
    const page = await openBlank(await context.newPage(), server);
    const outcome = await failedStart(page, script);
    expect(outcome).toMatchObject({ code: 'WORKER_FAILED' });
    expect(outcome.tookMs).toBeLessThan(SECONDS_MS);
    expect(await add(page)).toBe(1);
    const refused = await failedStart(page, script);
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
}

test('[START7] the page loads sqlite3.wasm for its worker, and nobody loads it twice', async ({
  context,
  server,
}) => {
  const headers = {
    'content-type': 'application/wasm',
    'access-control-allow-origin': '*',
    'cache-control': 'no-store',
  };
  let answers = 0;
  const files = createServer((_request, response) => {
    answers += 1;
    response.writeHead(200, headers);
    response.end(readFileSync(join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm')));
  });
  await new Promise<void>((resolve) => files.listen(0, 'localhost', resolve));
  const wasmUrl = `http://localhost:${(files.address() as AddressInfo).port}/sqlite3.wasm`;
  try {
    const page = await openBlank(await context.newPage(), server);
    const value = await page.evaluate(async (wasmUrl) => {
      const storage = await window.api.openStorage('loaded', { directory: 'starts', wasmUrl });
      await storage.put('key', 1);
      return await storage.get('key');
    }, wasmUrl);
    expect(value).toBe(1);
    // The browser lists the resources of the page, a moment later, without the resources of its workers.
    const loads = (wasmUrl: string) => performance.getEntriesByName(wasmUrl).length;
    await expect.poll(() => page.evaluate(loads, wasmUrl)).toBe(1);
    expect(answers).toBe(1);
  } finally {
    files.closeAllConnections();
    files.close();
  }
});

test('[START4] wrong arguments are INVALID_ARGUMENT, with the right form in the message', {
  tag: REST,
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const { connect, openStorage } = window.api as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >;
    const told = (call: Promise<unknown>) =>
      call.catch((error) => [
        error.name,
        error.code,
        /new Worker\(|openStorage\('/.test(error.message),
      ]);
    return [
      await told(connect!()),
      await told(connect!('./objects.worker.js')),
      await told(connect!(() => undefined)),
      await told(openStorage!(5)),
    ];
  });
  expect(seen).toEqual(Array(4).fill(['TypeError', 'INVALID_ARGUMENT', true]));
});
