// Libraries written for workerd run unmodified in a browser's worker, with workerd's results.

import type { Page } from '@playwright/test';
import type { Miniflare } from 'miniflare';
import { IN_CLASS } from '../../packages/adapters/testing/kysely-program.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import {
  type Findings,
  inBrowser,
  inWorkerd,
  startInBrowser,
} from '../workerd/libraries/engines.ts';
import { PEOPLE, PROGRAMS, type Program, SHELF, STORES } from '../workerd/libraries/programs.ts';
import { startWorkerd } from '../workerd/libraries/workerd.ts';

let workerd: Miniflare;
test.beforeAll(async () => {
  workerd = await startWorkerd();
});
test.afterAll(() => workerd.dispose());

function programOf(packageName: string): Program {
  return PROGRAMS.find((program) => program.packageName === packageName)!;
}

/** The program's findings in the browser, which equal its findings in workerd. */
async function findings(page: Page, name: string | Program): Promise<Findings> {
  const program = typeof name === 'string' ? programOf(name) : name;
  const here = await inBrowser(page, program);
  expect(here).toEqual(await inWorkerd(workerd, program));
  return here;
}

function betweenInBrowser(page: Page): Promise<unknown> {
  return page.evaluate(async () => {
    const { libraries } = window as unknown as {
      libraries: { Stores: { getByName(name: string): { between(): Promise<unknown> } } };
    };
    return libraries.Stores.getByName('between').between();
  });
}

test('[LIB1] [LIB2] [LIB3] [LIB4] [LIB8] Drizzle, TinyBase, partyserver, agents and y-partyserver find what they find in workerd', {
  tag: [LONG, ONCE],
}, async ({ storagePage }) => {
  await startInBrowser(storagePage);

  await test.step('Drizzle with its migrator: inserts, joins, a rolled back transaction', async () => {
    expect(await findings(storagePage, 'drizzle-orm')).toMatchObject({
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

  await test.step('TinyBase’s persisters, over keys and over SQL, return the saved state', async () => {
    const content = [
      { pets: { fido: { species: 'dog' }, cat: { species: 'cat' } } },
      { open: true, title: 'Zoë 🦊' },
    ];
    expect(await findings(storagePage, 'tinybase')).toEqual({
      keys: content,
      json: content,
      fragmented: content,
    });
  });

  await test.step('partyserver: connections with state, broadcasts, requests', async () => {
    const { one } = await findings(storagePage, 'partyserver');
    expect(one).toEqual([
      'welcome to room',
      'somebody came',
      '1: hello',
      '2: again',
      '1: mine',
      'left with 4001',
    ]);
  });

  await test.step('agents: state, SQL, a queue, schedules, the current agent, calls over sockets', async () => {
    const found = await findings(storagePage, 'agents');
    expect(found).toMatchObject({
      name: 'one',
      state: { count: 5 },
      notes: [
        { id: 1, text: 'one' },
        { id: 2, text: 'two' },
      ],
      queueEntry: ['queued', { text: 'first' }, true],
      scheduleEntry: ['scheduled', { text: 'soon' }, true],
      left: 0,
      agents: ['one', 'one', 'one'],
    });
    expect(found.one).toContain('room: hello true');
    expect(found.two).toContain('room: there true');
  });

  await test.step('y-partyserver: editors agree on a document, which outlives a reset of its object', async () => {
    const { merged, last, heard } = await findings(storagePage, 'y-partyserver');
    expect(merged).toEqual(['hello from one from two', 'hello from one from two']);
    expect(last).toBe('again: hello from one from two');
    expect(heard).toEqual([['somebody said hi'], ['heard hi']]);
  });
});

const OTHERS = ['hono', 'kysely', 'workers-qb', '@cloudflare/actors', 'capnweb', '@orpc/server'];

test(`[LIB5] ${OTHERS.join(', ')} find what they find in workerd`, { tag: [LONG, ONCE] }, async ({
  storagePage,
}) => {
  await startInBrowser(storagePage);
  for (const name of OTHERS) {
    await test.step(name, () => findings(storagePage, name));
  }
});

test('[KYSELY1] [KYSELY2] [KYSELY3] a class uses `ctx-storage/kysely` with the results of workerd', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ storagePage }) => {
  await startInBrowser(storagePage);
  expect(await findings(storagePage, PEOPLE)).toEqual(IN_CLASS);
});

test('[DRIZZLE3] a class makes the migrations of drizzle-kit with the results of workerd', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ storagePage }) => {
  await startInBrowser(storagePage);
  expect(await findings(storagePage, SHELF)).toEqual({
    made: [['0000_quick_hawk', '0001_slow_owl'], []],
    found: [{ id: 1, name: 'Ursula', tags: ['a'], books: [] }],
  });
});

test('[LIB6] [LIB7] AsyncLocalStorage follows code across the promises it awaits', {
  tag: LONG,
}, async ({ storagePage }) => {
  await startInBrowser(storagePage);
  const found = await findings(storagePage, STORES);
  expect(found).toMatchObject({
    watch: { wrong: 0 },
    section: 'own',
    timer: 'own',
    called: ['none', { wrong: 0 }, 'none', 'none'],
    alone: ['alone', 'alone', 'alone', 'none'],
    enterWith: 'threw Error',
  });
  // The limit of a browser: two chains of one turn that await no promise.
  const response = await workerd.dispatchFetch('http://libraries/Stores/between');
  expect(await response.json()).toEqual([
    ['a', 'a', 'a'],
    ['b', 'b', 'b'],
  ]);
  expect(await betweenInBrowser(storagePage)).toEqual([
    ['a', 'b', 'b'],
    ['b', 'b', 'b'],
  ]);
});
