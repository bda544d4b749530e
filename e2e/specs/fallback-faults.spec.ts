// Objects on IndexedDB when the browser closes the database, never answers, clears the site's data, or has no room
// left.

import type { RemoteStorage } from '../../src/index.ts';
import { openBlankTab } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { CLEAR_PATH } from '../browsers/server.ts';
import type { Tab } from '../browsers/tabs.ts';
import { LONG, RELEASE } from '../browsers/tags.ts';
import type { Classes } from './pages/objects-worker.ts';

declare global {
  interface Window {
    openedBeforeClearing: RemoteStorage;
  }
}

/** The outcomes of writes that were pending when the fault came, and of calls after it. */
interface Course {
  readonly acknowledged: number;
  /** The codes with which the pending calls rejected. */
  readonly codes: readonly string[];
  /** The result of the first call after the fault. */
  readonly found: number;
  readonly elapsedMs: number;
}

/** Writes without end, lets the fault come, and calls again. */
async function courseOf(tab: Tab, fault: 'silent' | 'close'): Promise<Course> {
  return await tab.evaluate(async (fault) => {
    const { env } = await window.api.connect<Classes>(
      () => new Worker('/e2e/specs/pages/faulty-worker.ts', { type: 'module' }),
      { medium: 'indexeddb' },
    );
    const room = env.Room.getByName('faulty');
    let acknowledged = await room.add(0);
    const codes: string[] = [];
    const lane = async () => {
      try {
        for (;;) acknowledged = Math.max(acknowledged, await room.add(1));
      } catch (error) {
        codes.push((error as { code?: string }).code ?? String(error));
      }
    };
    const lanes = [lane(), lane(), lane()];
    do await new Promise((resolve) => setTimeout(resolve, 200));
    while (acknowledged === 0); // on a busy machine
    const startMs = performance.now();
    new BroadcastChannel('faults of IndexedDB').postMessage(fault);
    await Promise.all(lanes);
    const again = env.Room.getByName('faulty');
    const found = await again.add(0);
    return { acknowledged, codes, found, elapsedMs: performance.now() - startMs };
  }, fault);
}

/** Each call under way was rejected with a code, and the next one found all that was acknowledged. */
function expectGoneOn({ acknowledged, codes, found }: Course): void {
  expect(codes).toHaveLength(3);
  for (const code of codes) expect(['IO', 'CONNECTION_CLOSED', 'OBJECT_RESET']).toContain(code);
  expect(acknowledged).toBeGreaterThan(0);
  // Writes whose answers were lost may have been stored.
  expect(found).toBeGreaterThanOrEqual(acknowledged);
  expect(found).toBeLessThanOrEqual(acknowledged + 3);
}

test('[MEDIUM8] a worker that is terminated among reads and writes leaves the database to the next', {
  tag: LONG,
}, async ({ tabs, server }) => {
  const tab = await openBlankTab(tabs, server);
  const outcomes = await tab.evaluate(async () => {
    const outcomes: unknown[] = [];
    for (let round = 0; round < 20; round++) {
      const posted: Promise<unknown>[] = [];
      for (const search of ['', '?once']) {
        const worker = new Worker(`/e2e/specs/pages/rows-worker.ts${search}`, { type: 'module' });
        const first = new Promise((resolve) => {
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = ({ message }) => resolve(`failed: ${message}`);
          setTimeout(() => resolve('not answered'), 120_000);
        });
        posted.push(first);
        await first;
        await new Promise((resolve) => setTimeout(resolve, 3 * round));
        worker.terminate();
      }
      outcomes.push(...(await Promise.all(posted)));
      if (outcomes.at(-1) !== 'stored') break;
    }
    return outcomes;
  }, null);
  expect(outcomes).toEqual(Array.from({ length: 20 }, () => ['opened', 'stored']).flat());
});

test('[MEDIUM10] when the browser closes the database, every call under way rejects with a code, and the next call goes on with everything acknowledged', {
  tag: LONG,
}, async ({ tabs, server }) => {
  expectGoneOn(await courseOf(await openBlankTab(tabs, server), 'close'));
});

test('[MEDIUM9] when the browser answers nothing more, every call under way rejects with a code, and the next call goes on with everything acknowledged', {
  tag: [LONG, RELEASE],
}, async ({ tabs, server }) => {
  const tab = await openBlankTab(tabs, server);
  expectGoneOn(await courseOf(tab, 'silent'));
});

test('[MEDIUM9] a database that is never opened is STORAGE_LOCKED, and may be tried again', {
  tag: [LONG, RELEASE],
}, async ({ tabs, server }) => {
  const tab = await openBlankTab(tabs, server);
  const seen = await tab.evaluate(async () => {
    let search = '?silent';
    const start = () =>
      new Worker(`/e2e/specs/pages/faulty-worker.ts${search}`, { type: 'module' });
    const connect = () => window.api.connect<Classes>(start, { medium: 'indexeddb' });
    const refused = async () => {
      for (;;) {
        const { code, retryable } = await connect().then(
          () => ({ code: null, retryable: false }),
          (error) => error,
        );
        // Loading the worker took longer than the database is waited for.
        if (code !== 'WORKER_BUSY' && code !== 'WORKER_FAILED') return [code, retryable];
      }
    };
    const before = await refused();
    // The browser answers again: to a worker that lives on, and to the next one.
    search = '';
    new BroadcastChannel('faults of IndexedDB').postMessage('heard');
    const { env } = await connect();
    const room = env.Room.getByName('tried again');
    return [...before, await room.add(2), await room.add(3)];
  }, null);
  expect(seen).toEqual(['STORAGE_LOCKED', true, 2, 5]);
});

test('[DUR4] on IndexedDB, site data that is cleared is reported to every call of every tab, and a reload starts from nothing', {
  tag: [LONG, RELEASE],
}, async ({ tabs, server }) => {
  const both = [await openBlankTab(tabs, server), await openBlankTab(tabs, server)];
  for (const tab of both) {
    await tab.evaluate(async () => {
      const storage = await window.api.openStorage('cleared', { medium: 'indexeddb' });
      await storage.put('kept', 'yes');
      window.openedBeforeClearing = storage;
    }, null);
  }
  const names = await both[0]!.evaluate(
    async () => (await indexedDB.databases()).map(({ name }) => name),
    null,
  );
  await both[1]!.evaluate((path) => fetch(path).then(({ status }) => status), CLEAR_PATH);
  for (const tab of both) {
    const { late, codes } = await tab.evaluate(async (names) => {
      const codeOf = (call: Promise<unknown>) =>
        call.then(
          () => undefined,
          (error) => error.code ?? String(error),
        );
      const choice = { medium: 'indexeddb' } as const;
      const storage = window.openedBeforeClearing;
      const deadlineMs = performance.now() + 120_000;
      let first: unknown;
      let goneMs = Number.POSITIVE_INFINITY;
      const watch = async () => {
        while (first === undefined && goneMs === Number.POSITIVE_INFINITY) {
          const present = (await indexedDB.databases()).map(({ name }) => name);
          if (names.some((name) => !present.includes(name))) goneMs = performance.now();
        }
      };
      void watch().catch(() => {}); // the browser may refuse or never answer while it deletes
      // Writes that succeeded although they began 250 ms after a database was seen to be gone.
      let late = 0;
      for (let n = 0; first === undefined && performance.now() < deadlineMs; n++) {
        const isLate = performance.now() > goneMs + 250;
        first = await codeOf(storage.put('n', n));
        if (first === undefined && isLate) late += 1;
      }
      const codes = [
        first,
        await codeOf(storage.get('kept')),
        await codeOf(window.api.openStorage('x', choice)),
      ];
      return { late, codes };
    }, names);
    expect(late).toBe(0);
    for (const code of codes) expect(code).toBe('SITE_DATA_CLEARED');
  }
  await both[1]!.close();
  await both[0]!.reload();
  await expect.poll(() => both[0]!.evaluate(() => 'api' in window, null)).toBe(true);
  const found = await both[0]!.evaluate(async () => {
    const storage = await window.api.openStorage('cleared', { medium: 'indexeddb' });
    const before = await storage.get('kept');
    await storage.put('kept', 'again');
    return [before ?? null, await storage.get('kept')];
  }, null);
  expect(found).toEqual([null, 'again']);
});
