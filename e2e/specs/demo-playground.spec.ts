// The playground, as a visitor uses it: write, call, see the stored data; mistakes, endless loops, shared
// links.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import { keptOffline } from '../browsers/kept-offline.ts';
import { REPOSITORY, type Served } from '../browsers/server.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';

async function open(page: Page, { origin }: Served, hash = ''): Promise<Page> {
  await page.goto(`${origin}/index.html${hash}`);
  return page;
}

const COUNTER = readFileSync(join(REPOSITORY, 'demo/playground/examples/counter.ts'), 'utf8');

/** With the counter, as an earlier visit has left it, in place of the first example. */
async function openCounter(page: Page, served: Served): Promise<Page> {
  const project = { id: 'counter', name: 'Counter', kind: 'own', files: { 'main.ts': COUNTER } };
  await page.addInitScript((text) => {
    if (window === window.top) localStorage['ctx-storage-playground'] ??= text;
  }, JSON.stringify(project));
  return open(page, served);
}

/** Opens the inspector of the called object. */
async function inspect(page: Page): Promise<void> {
  await page.getByText('Inspector: change values').click();
}

/** Puts a text in place of the editor's. */
async function write(page: Page, text: string): Promise<void> {
  const editor = page.locator('.cm-content');
  await editor.click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('Delete');
  await page.evaluate((text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    // Firefox takes the text by the names of an older standard.
    const inFirefox = { dataType: 'text/plain', data: text };
    const how = { bubbles: true, cancelable: true, clipboardData, ...inFirefox };
    const event = new ClipboardEvent('paste', how);
    document.querySelector('.cm-content')!.dispatchEvent(event);
  }, text);
}

const log = (page: Page) => page.getByRole('list', { name: 'Entries, the newest first' });
/** The value that the last call has answered with. */
const answer = (page: Page) => log(page).locator('.log-value').first();
const keys = (page: Page) => page.getByRole('list', { name: 'Keys' });
const runButton = (page: Page) => page.getByRole('button', { name: 'Run', exact: true });
const changesButton = (page: Page) => page.getByRole('button', { name: 'Run the changes' });

/** Findings that axe calls serious or critical. */
async function seriousFindings(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}

/** A link's hash, as the page makes it. */
function hashOf(page: Page, files: Record<string, string>): Promise<string> {
  return page.evaluate(async (files) => {
    const bytes = new TextEncoder().encode(JSON.stringify({ name: 'A gift', files }));
    const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
    const packed = new Uint8Array(await new Response(stream).arrayBuffer());
    const text = btoa(String.fromCharCode(...packed));
    return `#code=${text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
  }, files);
}

test('[DEMO3] [DEMO7] the first screen introduces itself and runs: a call, its answer, the console, the storage; code is replaced and the storage kept', {
  tag: LONG,
}, async ({ context, demoSite }) => {
  const page = await openCounter(await context.newPage(), demoSite);
  await expect(
    page.getByRole('heading', { name: /^Write a stateful object\. Run it here, with no server\./ }),
  ).toBeInViewport();
  await expect(log(page)).toContainText('The count is 1');
  await page.getByLabel('step of add').fill('5');
  await page.getByRole('button', { name: 'add', exact: true }).click();
  await expect(log(page)).toContainText('Counter.add(5)');
  await expect(log(page)).toContainText('The count is 6');
  await expect(keys(page)).toContainText('6');

  // A mistake is shown where it is, and the version before runs on.
  await write(page, 'export class {');
  await changesButton(page).click();
  await expect(page.getByRole('alert')).toContainText('The version before runs on.');
  await expect(page.locator('.cm-lint-marker-error')).toBeVisible();
  await write(
    page,
    `import { DurableObject } from 'cloudflare:workers';
export class Counter extends DurableObject {
  twice(): number {
    return 2 * (this.ctx.storage.kv.get<number>('count') ?? 0);
  }
  fail() {
    throw new RangeError('on purpose');
  }
  loop() {
    for (;;);
  }
}`,
  );
  await changesButton(page).click();
  await page.getByRole('button', { name: 'twice' }).click();
  await expect(answer(page)).toHaveText('12');
  await page.getByRole('button', { name: 'fail', exact: true }).click();
  await expect(log(page)).toContainText('RangeError on purpose');
  await page.getByRole('button', { name: 'line 7 of main.ts' }).click();
  await expect(page.locator('.cm-content')).toBeFocused();

  // Code that does not end is stopped; the objects keep their data.
  await page.getByRole('button', { name: 'loop' }).click();
  await expect(log(page)).toContainText('waiting');
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(log(page)).toContainText('stopped');
  await page.getByRole('button', { name: 'twice' }).click();
  await expect(log(page).getByText('12', { exact: true })).toHaveCount(2);

  await page.reload();
  await page.getByRole('button', { name: 'twice' }).click();
  await expect(answer(page)).toHaveText('12');
});

test('[DEMO17] a form has a field for each parameter, in order; an empty one sends nothing; a rest takes several; arguments and answers are shown as they are', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await openCounter(await context.newPage(), demoSite);
  await expect(log(page)).toContainText('Counter.add()');
  await write(
    page,
    `import { DurableObject } from 'cloudflare:workers';
export class Counter extends DurableObject {
  say(first, { loud } = { loud: 'the default' }, [one] = ['one'], last = 'last') {
    return [first, loud, one, last].join(', ');
  }
  all(first, ...items: unknown[]) {
    return [first, ...items].length;
  }
  types(given: number) {
    return [given, -0, NaN, 12n, new Date(0), new Map([['key', undefined]])];
  }
}`,
  );
  await changesButton(page).click();
  const form = (name: string) =>
    page.getByRole('region', { name: 'Call' }).locator('form').filter({ hasText: name });
  const call = (name: string) => form(name).getByRole('button', { name, exact: true }).click();
  const answer = log(page).locator('.log-value').first();

  await expect(form('say').getByRole('textbox')).toHaveCount(4);
  await page.getByLabel('first of say').fill('a');
  await page.getByLabel('last of say').fill('z');
  await call('say');
  await expect(log(page)).toContainText('Counter.say("a", undefined, undefined, "z")');
  await expect(answer).toHaveText('"a, the default, one, z"');
  await page.getByLabel('{ loud } of say').fill('{ "loud": "very" }');
  await page.getByLabel('[one] of say').fill('["two"]');
  await call('say');
  await expect(answer).toHaveText('"a, very, two, z"');

  await page.getByLabel('first of all').fill('1');
  await page.getByLabel('...items of all').fill('2');
  await page.getByLabel('argument 3 of all').fill('three');
  await call('all');
  await expect(log(page)).toContainText('Counter.all(1, 2, "three")');
  await expect(answer).toHaveText('3');
  await expect(form('all').getByRole('textbox')).toHaveCount(4);

  // JSON has no infinity, but this text is read as one.
  await page.getByLabel('given of types').fill('1e400');
  await call('types');
  await expect(log(page)).toContainText('Counter.types(Infinity)');
  await expect(answer).toHaveText(
    '[ Infinity, -0, NaN, 12n, new Date("1970-01-01T00:00:00.000Z"), new Map([["key", undefined]]), ]',
  );
});

test('[DEMO3] every example runs, in several files too; requests, sockets and alarms answer; SQL shows the tables', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await open(await context.newPage(), demoSite);
  const choose = async (label: string) => {
    await page.getByLabel('Example').selectOption({ label });
    await expect(page.getByLabel('Class')).toBeVisible();
    await page.getByText('Requests, sockets').click();
  };
  expect(await page.getByLabel('Example').locator('option').allTextContents()).toEqual([
    ...['Stock of a shop', 'Counter', 'Chat with sockets', 'Notes with full-text search'],
    ...['Rate limiter', 'Queue with an alarm', 'Shared list, read live'],
  ]);
  await expect(log(page)).toContainText('Stock.sell("tea", 3)');
  await expect(page.getByRole('region', { name: 'Table item' })).toContainText('tea9');

  await choose('Counter');
  await page.getByRole('button', { name: 'add', exact: true }).click();
  await expect(log(page)).toContainText('The count is 1');

  await choose('Chat with sockets');
  await page.getByRole('button', { name: 'Open a socket' }).click();
  await expect(log(page)).toContainText('open');
  await page.getByLabel('Text for the socket').fill('hello');
  await page.getByRole('button', { name: 'Send' }).click();
  await expect(log(page)).toContainText('"text":"hello"');
  await expect(page.getByRole('region', { name: 'Table message' })).toContainText('hello');
  await inspect(page);
  await page.getByRole('tab', { name: 'Tables' }).click();
  await expect(page.getByRole('grid', { name: 'Rows of message' })).toContainText('hello');

  await choose('Rate limiter');
  await expect(page.getByRole('button', { name: 'limits.ts' })).toBeVisible();
  await page.getByRole('button', { name: 'fetch' }).click();
  await expect(answer(page)).toContainText(String.raw`{\"isAllowed\":true,\"left\":4}`);

  await choose('Queue with an alarm');
  await page.getByLabel('task of push').fill('a letter');
  await page.getByRole('button', { name: 'push' }).click();
  const alarms = page.getByRole('region', { name: 'Alarms' });
  await expect(alarms.getByRole('listitem')).toHaveText(/Alarm of Queue “first”in \d+ s/);
  await alarms.getByRole('button', { name: 'To the next alarm' }).click();
  await expect(log(page)).toContainText('Done: a letter');
  await expect(alarms.getByRole('status')).toContainText('stands at');
  await expect(alarms.getByRole('status')).toContainText('The alarm of Queue “first” ran.');
  await alarms.getByRole('button', { name: 'Back to real time' }).click();
  await expect(alarms.getByRole('status')).not.toContainText('stands at');

  await choose('Notes with full-text search');
  await page.getByLabel('title of add').fill('Shopping');
  await page.getByLabel('body of add').fill('bread and cheese');
  await page.getByRole('button', { name: 'add', exact: true }).click();
  await page.getByLabel('words of search').fill('cheese');
  await page.getByRole('button', { name: 'search', exact: true }).click();
  await expect(log(page)).toContainText('[cheese]');

  // Another tab's change shows at once.
  await choose('Shared list, read live');
  await page.getByLabel('item of add').fill('milk');
  await page.getByRole('button', { name: 'add', exact: true }).click();
  await expect(keys(page)).toContainText('milk');
  const other = await open(await context.newPage(), demoSite);
  await other.getByLabel('item of add').fill('honey');
  await other.getByRole('button', { name: 'add', exact: true }).click();
  await expect(keys(page)).toContainText('honey');
});

test('[DEMO7] the state is true: connected, saved, kept where and how large; keeping the data is asked for at a click', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  // This browser's own answer would depend on its user and its history.
  await page.addInitScript(() => {
    const answers = [false, false, true];
    navigator.storage.persisted = async () => false;
    navigator.storage.persist = async () => answers.shift() ?? false;
  });
  await openCounter(page, demoSite);
  const state = page.getByRole('contentinfo');
  await expect(log(page)).toContainText('The count is 1');
  await expect(state).toContainText('Connected');
  await expect(state).toContainText('Saved');
  await expect(state).toContainText('Kept in this browser');
  await state.getByRole('button', { name: 'Keep this data' }).click();
  await expect(state).toContainText('The browser refused');
  await state.getByRole('button', { name: 'Ask again' }).click();
  await expect(state).toContainText('Only you can delete it');

  const size = async () => {
    const [, count, unit] = /([\d.]+) (B|KiB|MiB)/.exec(await state.innerText())!;
    return Number(count) * { B: 1, KiB: 1024, MiB: 1024 ** 2 }[unit as 'B'];
  };
  const stored = () =>
    page.evaluate(async () => {
      const sizeOf = async (folder: FileSystemDirectoryHandle): Promise<number> => {
        let bytes = 0;
        for await (const entry of folder.values()) {
          bytes += entry.kind === 'file' ? (await entry.getFile()).size : await sizeOf(entry);
        }
        return bytes;
      };
      return sizeOf(await navigator.storage.getDirectory());
    });
  const before = await size();
  const other = await open(await context.newPage(), demoSite);
  await expect(other.getByRole('contentinfo')).toContainText('Connected, by another tab');
  await write(
    other,
    `import { DurableObject } from 'cloudflare:workers';
export class Counter extends DurableObject {
  fill() {
    const noise = Uint8Array.from({ length: 2 ** 17 }, () => 256 * Math.random());
    for (let i = 0; i < 8; i++) this.ctx.storage.kv.put('block ' + i, noise);
  }
}`,
  );
  await changesButton(other).click();
  await other.getByRole('button', { name: 'fill' }).click();
  await expect(keys(page)).toContainText('block 7');
  await expect.poll(size).toBeGreaterThan(before + 2 ** 20);
  // The files of the object are nearly all that there is.
  expect(Math.abs((await stored()) - (await size()))).toBeLessThan(2 ** 18);
});

/**
 * Tries to read, write and send, and returns each outcome. Firefox 153, on a processor with much other work, sometimes
 * tells nothing of a worker that a worker has made: the server hears nothing of it either.
 */
const HOSTILE = `import { DurableObject } from 'cloudflare:workers';
const attempt = async (name, action) => {
  try { return name + ': ' + (await action()); } catch (error) { return name + ': refused'; }
};
export class Thief extends DurableObject {
  async steal(address) {
    this.ctx.storage.kv.put('mine', 1);
    const inNamed = (name) => globalThis[name] ?? undefined;
    return [
      await attempt('fetch', async () => (await fetch(address)).status),
      await attempt('import', async () => Object.keys(await import(address + '.js')).length),
      await attempt('socket', () => new Promise((done, fail) => {
        const socket = new (inNamed('WebSocket'))(address.replace('http', 'ws'));
        socket.onopen = () => done('open'); socket.onerror = () => fail(); socket.onclose = () => fail();
      })),
      await attempt('worker', () => new Promise((done, fail) => {
        const text = 'fetch(' + JSON.stringify(address) + ').then(() => postMessage(1), () => postMessage(0))';
        const worker = new Worker(URL.createObjectURL(new Blob([text])));
        worker.onmessage = ({ data }) => data ? done('sent') : fail(); worker.onerror = fail;
        setTimeout(fail, 20_000);
      })),
      await attempt('opfs', async () => {
        const names = [];
        for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name);
        return names.length;
      }),
      await attempt('databases', () => new Promise((done, fail) => {
        const request = indexedDB.open('playground'); request.onsuccess = () => done('open'); request.onerror = fail;
      })),
      await attempt('origin', () => self.origin === 'null' ? 'none' : self.origin),
    ];
  }
  loop() { for (;;); }
}
console.log('it runs');`;

test("[DEMO4] [DEMO13] a link's code does not run by itself, reaches nothing of the visitor's, sends nothing, is stopped, is kept in the sandbox, and is trusted at a click", {
  tag: LONG,
}, async ({ context, demoSite }) => {
  const page = await openCounter(await context.newPage(), demoSite);
  await page.getByRole('button', { name: 'count', exact: true }).click();
  await expect(keys(page)).toContainText('count');
  const hash = await hashOf(page, { 'main.ts': HOSTILE });
  // Requests that reach a server: Playwright also reports requests that the policy stops.
  const heard: string[] = [];
  const server = createServer(({ url }, response) => {
    heard.push(url ?? '');
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('content-type', 'text/javascript');
    response.end('export const loot = 1;');
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const target = `http://localhost:${(server.address() as AddressInfo).port}/stolen`;

  const victim = await open(await context.newPage(), demoSite, hash);
  await expect(victim.getByText('Somebody shared this code: “A gift”.')).toBeVisible();
  await expect(victim.locator('.cm-content')).toContainText('export class Thief');
  await expect(victim.getByText('This code has not run. Read it first.')).toBeVisible();
  await expect(victim.locator('.log-entry')).toHaveCount(0);
  expect(victim.workers()).toEqual([]);

  await victim.getByRole('button', { name: 'Run in a sandbox' }).click();
  await expect(log(victim)).toContainText('it runs');
  await victim.getByLabel('address of steal').fill(target);
  await victim.getByRole('button', { name: 'steal' }).click();
  const answer = log(victim).locator('.log-value');
  for (const name of ['fetch', 'import', 'socket', 'worker', 'opfs', 'databases']) {
    await expect(answer).toContainText(`${name}: refused`);
  }
  await expect(answer).toContainText('origin: none');
  expect(heard).toEqual([]);

  await victim.getByRole('button', { name: 'loop' }).click();
  await expect(log(victim)).toContainText('waiting');
  await victim.getByRole('button', { name: 'Stop' }).click();
  await expect(victim.locator('iframe')).toHaveCount(0);
  await expect(victim.getByText('This code has not run. Read it first.')).toBeVisible();

  // The visitor's own object is as it was, and the code is not stored.
  await page.reload();
  await expect(keys(page)).toContainText('count');
  await expect(page.locator('.cm-content')).toContainText('class Counter');

  // Kept, it can be changed, runs in the sandbox as before, and not by itself at the next visit.
  await victim.getByRole('button', { name: 'Keep it, to change it' }).click();
  expect(new URL(victim.url()).hash).toBe('');
  await expect(victim.getByText('Somebody else wrote this code: “A gift”.')).toBeVisible();
  await write(victim, HOSTILE.replace('it runs', 'it runs, changed'));
  await victim.getByRole('button', { name: 'Run in a sandbox' }).click();
  await expect(log(victim)).toContainText('it runs, changed');
  await expect(victim.locator('iframe')).toHaveAttribute('sandbox', 'allow-scripts');
  await victim.reload();
  await expect(victim.getByText('This code has not run. Read it first.')).toBeVisible();
  await expect(victim.locator('.cm-content')).toContainText('export class Thief');
  await victim.getByRole('button', { name: 'Run in a sandbox' }).click();
  await victim.getByLabel('address of steal').fill(target);
  await victim.getByRole('button', { name: 'steal' }).click();
  await expect(answer).toContainText('databases: refused');
  await expect(answer).toContainText('origin: none');

  // Trusted code reads this origin's storage once it is run, and still sends nothing.
  const trust = 'Trust it: it can read everything stored on this site';
  await victim.getByRole('button', { name: trust }).click();
  await expect(victim.getByText('Nothing runs.')).toBeVisible();
  await runButton(victim).click();
  await victim.getByLabel('address of steal').fill(target);
  await victim.getByRole('button', { name: 'steal' }).click();
  await expect(answer).toContainText('databases: open');
  for (const name of ['fetch', 'import', 'socket', 'worker']) {
    await expect(answer).toContainText(`${name}: refused`);
  }
  await victim.reload();
  await expect(victim.getByText('Nothing runs.')).toBeVisible();
  await expect(victim.locator('iframe')).toHaveCount(0);
  expect(heard).toEqual([]);
  server.close();

  const damaged = await open(await context.newPage(), demoSite, '#code=abc');
  await expect(damaged.getByText('The link is damaged')).toBeVisible();
});

for (const scheme of ['light', 'dark'] as const) {
  test(`[DEMO6] accessible in ${scheme} colours, and on a phone without sideways scrolling`, {
    tag: [LONG, ONCE, ...(scheme === 'dark' ? [RELEASE] : [])],
  }, async ({ context, demoSite }) => {
    const page = await context.newPage();
    await page.emulateMedia({ colorScheme: scheme });
    await open(page, demoSite);
    await expect(log(page)).toContainText('Stock.sell("tea", 3)');
    await page.getByRole('slider', { name: 'Moment' }).press('ArrowLeft');
    await expect(page.getByRole('region', { name: 'Then', exact: true })).toBeVisible();
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await seriousFindings(page)).toEqual([]);
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(overflow).toBe(0);
    }
    await page.goto(`${demoSite.origin}/api.html`);
    await page.getByRole('button', { name: 'Records' }).click();
    await expect(page.getByRole('region', { name: 'Answer on 2024-11-30' })).toBeVisible();
    expect(await seriousFindings(page)).toEqual([]);
  });
}

test('[DEMO6] the navigation of every page shows all its links, on a phone too', {
  tag: [ONCE, REST],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  for (const name of ['', 'api.html', 'bench.html', 'notes.html']) {
    await page.goto(`${demoSite.origin}/${name}`);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
      await expect(links).toHaveText([
        'Playground',
        'Notes app',
        'Two devices',
        'Emulated API',
        'Benchmark',
      ]);
      await expect(links.last()).toBeInViewport({ ratio: 1 });
      await expect(links.and(page.locator('[aria-current="page"]'))).toHaveCount(1);
    }
  }
});

test('[DEMO18] the playground says how to install the package; each page links the guide and the repository, if they are named', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  const ways = page.getByRole('navigation', { name: 'The package' });
  await page.goto(`${demoSite.origin}/index.html`);
  await expect(page.getByText('npm install ctx-storage')).toBeInViewport();
  await expect(page.getByRole('button', { name: 'Run', exact: true })).toBeVisible();
  await expect(ways).toHaveCount(0);
  // The build writes these tags.
  const named =
    '<meta name="guide" content="https://guide.example/"><meta name="repository" content="https://source.example/a/b">';
  await page.addInitScript((tags) => {
    document.addEventListener('readystatechange', () => {
      if (document.readyState === 'interactive')
        document.head.insertAdjacentHTML('beforeend', tags);
    });
  }, named);
  for (const name of ['index', 'api', 'bench', 'notes']) {
    await page.goto(`${demoSite.origin}/${name}.html`);
    await page.setViewportSize({ width: 390, height: 800 });
    await expect(ways.getByRole('link', { name: 'Guide' })).toHaveAttribute(
      'href',
      'https://guide.example/',
    );
    await expect(ways.getByRole('link', { name: 'Source' })).toBeInViewport({ ratio: 1 });
  }
});

test("[DEMO37] the first calls of an example are not made on the visitor's changed code", {
  tag: LONG,
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  // Store the state that an earlier visit has left: other code in place of the first example, and no data.
  const files = {
    'main.ts': `import { DurableObject } from 'cloudflare:workers';
export class Ledger extends DurableObject {
  receive(...parts: unknown[]) { this.ctx.storage.kv.put('received', parts); }
}`,
  };
  const project = { id: 'stock', name: 'Stock of a shop', kind: 'own', files };
  await page.addInitScript((text) => {
    if (window === window.top) localStorage['ctx-storage-playground'] ??= text;
  }, JSON.stringify(project));
  await open(page, demoSite);
  await page.getByRole('button', { name: 'receive', exact: true }).click();
  await expect(log(page)).toContainText('Ledger.receive()');
  await expect(log(page)).not.toContainText('tea');
  await expect(keys(page)).not.toContainText('tea');
});

test('[DEMO17] an example that was changed is no longer named, and can be chosen again', {
  tag: LONG,
}, async ({ context, demoSite }) => {
  const page = await openCounter(await context.newPage(), demoSite);
  const shown = page.getByLabel('Example').locator('option:checked');
  await expect(shown).toHaveText('Counter');
  await expect(log(page)).toContainText('The count is');
  await write(page, 'export class Other {}');
  await expect(shown).toHaveText('Your code');
  await page.reload();
  await expect(shown).toHaveText('Your code');
  await page.getByLabel('Example').selectOption('Counter');
  await expect(page.locator('.cm-content')).toContainText('class Counter');
  await expect(shown).toHaveText('Counter');
});

test('[DEMO5] opens without a network, in a new tab, with its data', { tag: LONG }, async ({
  profile,
  offlineDemoSite,
}) => {
  const context = await profile.launch();
  const page = await openCounter(await context.newPage(), offlineDemoSite);
  await expect(log(page)).toContainText('The count is 1');
  await keptOffline(page);
  await page.close();
  await context.setOffline(true);
  const later = await open(await context.newPage(), offlineDemoSite);
  await later.getByRole('button', { name: 'count', exact: true }).click();
  await expect(log(later)).toContainText('Counter.count()');
  await expect(keys(later)).toContainText('1');
  await expect(later.getByText('TypeScript finds no mistakes.')).toBeVisible();
  await later.goto(`${offlineDemoSite.origin}/notes.html`);
  await expect(later.getByText('No notes yet')).toBeVisible();
});
