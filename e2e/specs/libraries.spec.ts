// Libraries written for workerd run unmodified in a browser's worker, with workerd's results.

import type { Page } from '@playwright/test';
import type { Miniflare } from 'miniflare';
import { expect, test } from '../browsers/fixtures.ts';
import type * as Talk from '../libraries/party-talk.ts';
import { type Ask, talk } from '../libraries/party-talk.ts';
import { startWorkerd } from '../libraries/workerd.ts';

/** What the classes have in common; their own types are those of workerd. */
interface Runs {
  run(): Promise<unknown>;
}

interface Classes {
  Library: Runs;
  Bases: Runs;
  Party: object;
}

let workerd: Miniflare;
test.beforeAll(async () => {
  workerd = await startWorkerd();
});
test.afterAll(() => workerd.dispose());

async function inWorkerd(className: 'Library' | 'Bases'): Promise<unknown> {
  return (await workerd.dispatchFetch(`http://libraries/${className}/one`)).json();
}

function inBrowser(page: Page, className: 'Library' | 'Bases'): Promise<unknown> {
  return page.evaluate(async (name) => {
    const start = () => new Worker('/e2e/libraries/worker.ts', { type: 'module' });
    const { env } = await window.api.connect<Classes>(start, { directory: 'libraries' });
    return JSON.parse(JSON.stringify(await env[name].getByName('one').run()));
  }, className);
}

test('[LIB1] Drizzle with its migrator: inserts, joins, a rolled back transaction', async ({
  storagePage,
}) => {
  const here = await inBrowser(storagePage, 'Library');
  expect(here).toEqual(await inWorkerd('Library'));
  expect(here).toMatchObject({
    author: { id: 1, name: 'Ursula' },
    updated: [
      { title: 'One', price: 10.5 },
      { title: 'Two', price: 1 },
    ],
    failure: 'rolled back',
    count: { count: 2 },
    left: [],
  });
});

test('[LIB2] TinyBase’s persisters, over keys and over SQL, return what was saved', async ({
  storagePage,
}) => {
  const here = await inBrowser(storagePage, 'Bases');
  expect(here).toEqual(await inWorkerd('Bases'));
  const content = [
    { pets: { fido: { species: 'dog' }, cat: { species: 'cat' } } },
    { open: true, title: 'Zoë 🦊' },
  ];
  expect(here).toEqual({ keys: content, json: content, fragmented: content });
});

test('[LIB3] partyserver: connections with state, broadcasts, requests', async ({
  storagePage,
}) => {
  const here = await storagePage.evaluate(async () => {
    const start = () => new Worker('/e2e/libraries/worker.ts', { type: 'module' });
    const { env } = await window.api.connect<Classes>(start, { directory: 'libraries' });
    const room = env.Party.getByName('room');
    const { talk } = await import('/e2e/libraries/party-talk.ts' as string);
    return (talk as (ask: Ask) => ReturnType<typeof Talk.talk>)((url, init) =>
      room.fetch(url, init),
    );
  });
  expect(here).toEqual(await talk((url, init) => workerd.dispatchFetch(url, init)));
  expect(here.logs[0]).toEqual([
    'welcome to room',
    'somebody came',
    '1: hello',
    '2: again',
    '1: mine',
    'left with 4001',
  ]);
});
