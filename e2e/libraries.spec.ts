// Libraries written for workerd run unmodified in a browser's worker, with the same results as there.

import type { Page } from '@playwright/test';
import type { Miniflare } from 'miniflare';
import { expect, test } from './fixtures.ts';
import { startWorkerd } from './libraries/workerd.ts';

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

test('[LIB2] TinyBase’s persisters, over keys and over SQL, give back what was saved', async ({
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
    const open = async () => {
      const { webSocket } = await room.fetch('http://libraries/Party/room', {
        headers: { Upgrade: 'websocket' },
      });
      if (!webSocket) throw new Error('no socket');
      return webSocket;
    };
    return talk(open, async () => (await room.fetch('http://libraries/Party/room')).json());

    // The same steps as in workerd, below.
    async function talk(
      connect: () => Promise<{
        accept(): void;
        send(text: string): void;
        close(code: number): void;
        addEventListener(type: string, listener: (event: Event) => void): void;
      }>,
      ask: () => Promise<unknown>,
    ) {
      const logs: string[][] = [[], []];
      const until = async (log: string[], count: number) => {
        while (log.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
      };
      const join = async (log: string[]) => {
        const socket = await connect();
        socket.addEventListener('message', (event) =>
          log.push(String((event as MessageEvent).data)),
        );
        socket.accept();
        await until(log, 1);
        return socket;
      };
      const one = await join(logs[0]!);
      const two = await join(logs[1]!);
      await until(logs[0]!, 2);
      one.send('hello');
      await until(logs[1]!, 2);
      one.send('again');
      await until(logs[1]!, 3);
      two.send('mine');
      await until(logs[0]!, 5);
      const here = await ask();
      two.close(4001);
      await until(logs[0]!, 6);
      return { logs, here };
    }
  });
  const there = await partyInWorkerd();
  expect(here).toEqual(there);
  expect(here.logs[0]).toEqual([
    'welcome to room',
    'somebody came',
    '1: hello',
    '2: again',
    '1: mine',
    'left with 4001',
  ]);
});

async function partyInWorkerd() {
  const logs: string[][] = [[], []];
  const until = async (log: string[], count: number) => {
    while (log.length < count) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const address = 'http://libraries/Party/room';
  const join = async (log: string[]) => {
    const { webSocket } = await workerd.dispatchFetch(address, {
      headers: { Upgrade: 'websocket' },
    });
    if (!webSocket) throw new Error('no socket');
    webSocket.addEventListener('message', ({ data }) => log.push(String(data)));
    webSocket.accept();
    await until(log, 1);
    return webSocket;
  };
  const one = await join(logs[0]!);
  const two = await join(logs[1]!);
  await until(logs[0]!, 2);
  one.send('hello');
  await until(logs[1]!, 2);
  one.send('again');
  await until(logs[1]!, 3);
  two.send('mine');
  await until(logs[0]!, 5);
  const here = await (await workerd.dispatchFetch(address)).json();
  two.close(4001);
  await until(logs[0]!, 6);
  return { logs, here };
}
