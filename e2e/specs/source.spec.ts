// Classes whose code a page gives as text, in real browsers: loaded, replaced, refused and stopped.

import type { Page } from '@playwright/test';
import { openBlank } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';

/** A counter that counts in steps, and says which version of its code runs. */
const counter = (version: string, step: number, more = '') => ({
  'lib/step.ts': `export const step = ${step};`,
  'main.ts': `import { DurableObject } from 'cloudflare:workers';
import { step } from './lib/step.js';
export class Counter extends DurableObject {
  add() {
    const count = (this.ctx.storage.kv.get('count') ?? 0) + step;
    this.ctx.storage.kv.put('count', count);
    console.log('counted', count);
    return ['${version}', count, this.env.unit];
  }
  fail() {
    throw new TypeError('on purpose');
  }
  loop() { for (;;); }
  async slow() { await new Promise((done) => setTimeout(done, 500)); return '${version}'; }
  fetch(request) {
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, text) { socket.send('${version} ' + text); }
}
${more}`,
});

type Methods = {
  add(): [string, number, string];
  fail(): void;
  loop(): void;
  slow(): string;
};

declare global {
  interface Window {
    source: Awaited<ReturnType<typeof window.api.connectSource<{ Counter: Methods }>>>;
    heard: string[];
  }
}

const FILES = {
  one: counter('one', 1),
  two: counter('two', 10, 'export class Other extends Counter {}'),
};

async function connectSource(page: Page, files: object): Promise<void> {
  await page.evaluate(async (files) => {
    window.heard = [];
    window.source = await window.api.connectSource(files as never, {
      directory: 'source',
      env: { unit: 'apples' },
      onConsole: ({ text }) => window.heard.push(text),
    });
  }, files);
}

const add = (page: Page) => page.evaluate(() => window.source.env.Counter.getByName('a').add());

/** The code and message of an action's error. */
const refusal = (page: Page, files: object, loadMs = 10_000) =>
  page.evaluate(
    async ([files, loadMs]) => {
      const options = { directory: `refused`, loadMs } as const;
      const error = await window.api.connectSource(files as never, options).catch((error) => error);
      return `${error.code} ${error.message}`;
    },
    [files, loadMs] as const,
  );

test('[SRC1] [SRC3] [SRC4] [SRC6] [SRC7] source runs, is replaced in order, keeps its data, and a mistake leaves it running', async ({
  context,
  server,
}) => {
  const page = await openBlank(await context.newPage(), server);
  await connectSource(page, FILES.one);
  expect(await add(page)).toEqual(['one', 1, 'apples']);
  await expect.poll(() => page.evaluate(() => window.heard)).toEqual(['counted 1']);
  const stack = await page.evaluate(() =>
    window.source.env.Counter.getByName('a')
      .fail()
      .then(
        () => '',
        (error: Error) => error.stack,
      ),
  );
  expect(stack).toContain('main.ts:11:');

  // A replacement waits for running calls, and stubs and sockets reach the new code.
  const [slow, after, classes, state] = await page.evaluate(async (files) => {
    const { source } = window;
    const stub = source.env.Counter.getByName('a');
    const slow = stub.slow();
    await stub.add();
    await source.replace(files);
    return [await slow, await stub.add(), source.classes, source.state] as const;
  }, FILES.two);
  expect([slow, after]).toEqual(['one', ['two', 12, 'apples']]);
  expect([...classes].sort()).toEqual(['Counter', 'Other']);
  expect(state).toBe('leading');
  const reply = await page.evaluate(async () => {
    const stub = window.source.env.Counter.getByName('a');
    const { webSocket } = await stub.fetch('http://x/', { headers: { Upgrade: 'websocket' } });
    const answered = new Promise((resolve) => {
      webSocket!.addEventListener('message', (event) => {
        resolve((event as MessageEvent).data);
      });
    });
    webSocket!.accept();
    webSocket!.send('hello');
    return answered;
  });
  expect(reply).toBe('two hello');

  // Mistakes: the version before lives on.
  const mistakes = await page.evaluate(async () => {
    const texts = ['export class {', 'null.x', 'export const a = 1', "import './missing.js'"];
    const codes = [];
    for (const text of texts) {
      codes.push(await window.source.replace({ 'main.js': text }).catch(({ code }) => code));
    }
    return codes;
  });
  expect(mistakes).toEqual(Array(4).fill('SOURCE_INVALID'));
  expect(await add(page)).toEqual(['two', 22, 'apples']);
  expect(await refusal(page, { 'main.js': '\n\nnull.x;' })).toMatch(
    /^SOURCE_INVALID main\.js:3:\d+ failed/,
  );
  expect(await refusal(page, { 'main.js': 'for (;;);' }, 500)).toMatch(/^SOURCE_TIMEOUT .*0\.5 s/);
  expect(await refusal(page, { 'main.js': 1 })).toMatch(/^INVALID_ARGUMENT/);
  expect(
    await page.evaluate(
      (files) => window.api.connectSource(files, { directory: 'source' }).catch(({ code }) => code),
      FILES.one,
    ),
  ).toBe('INVALID_ARGUMENT');
});

test('[SRC6] code that does not end is stopped, and runs again with its data; [SRC5] the latest version of all tabs runs', {
  tag: LONG,
}, async ({ context, server }) => {
  const page = await openBlank(await context.newPage(), server);
  await connectSource(page, FILES.one);
  await add(page);
  const code = await page.evaluate(async () => {
    const { source } = window;
    const stub = source.env.Counter.getByName('b');
    const looping = stub.loop().catch(({ code }: { code: string }) => code);
    await new Promise((done) => setTimeout(done, 100));
    source.stop();
    // A call that is made at once waits for the next worker.
    const added = await source.env.Counter.getByName('a').add();
    return [await looping, added];
  });
  expect(code).toEqual(['CONNECTION_CLOSED', ['one', 2, 'apples']]);

  const other = await openBlank(await context.newPage(), server);
  await connectSource(other, FILES.two);
  expect(await add(other)).toEqual(['two', 12, 'apples']);
  expect(await add(page)).toEqual(['two', 22, 'apples']);
  await page.evaluate((files) => window.source.replace(files), counter('three', 100));
  expect(await add(other)).toEqual(['three', 122, 'apples']);
  expect(await page.evaluate(() => window.source.state)).toBe('leading');
});

test('[SRC8] the option worker starts the worker of each version, and is a function', {
  tag: [ONCE, LONG],
}, async ({ context, server }) => {
  const page = await openBlank(await context.newPage(), server);
  const [started, answers, refused] = await page.evaluate(async (files) => {
    let started = 0;
    const worker = () => {
      started += 1;
      return new Worker('/packages/entries/source-worker.ts', { type: 'module' });
    };
    const options = { directory: 'given', worker };
    const source = await window.api.connectSource<{ Counter: Methods }>(files.one, options);
    const stub = source.env.Counter.getByName('a');
    const answers = [await stub.add()];
    await source.replace(files.two);
    answers.push(await stub.add());
    const wrong = { directory: 'wrong', worker: worker() as never };
    const refused = await window.api.connectSource(files.one, wrong).catch((error) => error);
    return [started, answers.map(([name]) => name), `${refused.code} ${refused.message}`] as const;
  }, FILES);
  // One of the three workers was made in order to be refused.
  expect([started, answers]).toEqual([3, ['one', 'two']]);
  expect(refused).toMatch(/^INVALID_ARGUMENT connectSource: the option worker is a function/);
});

test('[HTML8] code given as text has HTMLRewriter, while it loads too', {
  tag: [REST, RELEASE],
}, async ({ storagePage }) => {
  const seen = await storagePage.evaluate(async () => {
    const text = `import { DurableObject } from 'cloudflare:workers';
      const rewriter = new HTMLRewriter().on('a', { element: (link) => link.append('!') });
      export class Page extends DurableObject {
        text() { return rewriter.transform(new Response('<a></a>')).text(); }
      }`;
    type Classes = { Page: { text(): string } };
    const files = { 'main.js': text };
    const { env } = await window.api.connectSource<Classes>(files, { directory: 'html' });
    return env.Page.getByName('a').text();
  });
  expect(seen).toBe('<a>!</a>');
});
