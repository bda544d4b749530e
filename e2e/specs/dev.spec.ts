// `npx ctx-storage dev` of the packed package, as a project's author runs it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { WebSocket } from 'ws';
import type * as Plugin from '../../src/tools/vite/plugin.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { installPacked, linkPackages, whileServed } from '../package/installed.ts';

const PROGRAM = 'node_modules/ctx-storage/dist/cli.js';

/** Another Node runs the program in `npm run without-glibc`. */
const NODE = process.env.NODE_OF_DEV ?? process.execPath;

const CONFIG = {
  name: 'shop',
  main: 'src/index.ts',
  compatibility_date: '2026-07-01',
  vars: { GREETING: 'hello' },
  durable_objects: { bindings: [{ name: 'ROOM', class_name: 'Room' }] },
  kv_namespaces: [{ binding: 'CACHE', id: 'abc' }],
  d1_databases: [{ binding: 'DB', database_name: 'shop', database_id: 'xyz' }],
  r2_buckets: [{ binding: 'FILES', bucket_name: 'files' }],
  queues: {
    producers: [{ binding: 'JOBS', queue: 'jobs' }],
    consumers: [{ queue: 'jobs', max_batch_timeout: 0 }],
  },
  ratelimits: [{ name: 'LIMITER', namespace_id: '1', simple: { limit: 1, period: 60 } }],
  services: [{ binding: 'SELF', service: 'shop', entrypoint: 'Admin' }],
  triggers: { crons: ['*/5 * * * *'] },
  env: { staging: { vars: { GREETING: 'hi' } } },
};

const CODE = `
import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers';
export class Admin extends WorkerEntrypoint {
  greet(name: string) { return 'admin of ' + name; }
}
export class Room extends DurableObject {
  async fetch(request: Request) {
    if (request.headers.get('upgrade') === 'websocket') {
      const [client, server] = Object.values(new WebSocketPair());
      this.ctx.acceptWebSocket(server);
      return new Response(null, { status: 101, webSocket: client });
    }
    const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return new Response('visit ' + count);
  }
  webSocketMessage(socket, message) { socket.send('echo ' + message); }
}
export default {
  async fetch(request: Request, env) {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case '/room': return env.ROOM.getByName('a').fetch(request);
      case '/vars': return Response.json([env.GREETING, env.TOKEN ?? null, env.AI?.run() ?? null]);
      case '/echo': return new Response(request.body, { headers: { 'set-cookie': 'a=1' } });
      case '/keys': return Response.json((await env.CACHE.list()).keys.map(({ name }) => name));
      case '/throw': throw new Error('thrown by the project');
    }
    await env.CACHE.put('a', 'kv');
    await env.DB.prepare('INSERT INTO item VALUES (?)').bind('x').run();
    await env.FILES.put('f', 'r2');
    await env.JOBS.send('job');
    return Response.json([
      await env.CACHE.get('a'),
      await env.DB.prepare('SELECT count(*) AS n FROM item').first('n'),
      await (await env.FILES.get('f')).text(),
      (await env.LIMITER.limit({ key: 'k' })).success,
      (await env.LIMITER.limit({ key: 'k' })).success,
      await env.SELF.greet('x'),
    ]);
  },
  async queue({ messages }, env) {
    for (const { body } of messages) await env.CACHE.put('queued ' + body, '1');
  },
  async scheduled({ cron }, env) {
    await env.CACHE.put('cron ' + cron, '1');
  },
};
`;

/** Counts its runs. */
const MAKE = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const count = existsSync('made.js') ? Number(/\\d+/.exec(readFileSync('made.js', 'utf8'))) : 0;
writeFileSync('made.js', "export const made = 'made " + (count + 1) + "';");
`;

let folder: string;
const running = new Set<ChildProcess>();

test.beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ctx-storage-dev-'));
  await installPacked(folder);
  linkPackages(folder, ['esbuild', 'ws']);
  write('wrangler.jsonc', `// a project\n${JSON.stringify(CONFIG)}`);
  write('src/index.ts', CODE);
  write('migrations/0001_items.sql', 'CREATE TABLE item(name TEXT);');
});
test.afterEach(async () => {
  for (const child of running) await end(child);
  rmSync(folder, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

interface Started {
  readonly address: string;
  readonly child: ChildProcess;
  /** Everything printed so far. */
  readonly output: () => string;
}

/** Starts the program; resolves when it listens. */
async function start(...parameters: string[]): Promise<Started> {
  const child = spawn(NODE, [PROGRAM, 'dev', '--port', '0', ...parameters], {
    cwd: folder,
  });
  running.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const addressIn = () => /Listening at (\S+)/.exec(output)?.[1];
  await expect.poll(() => addressIn() ?? child.exitCode).not.toBeNull();
  expect(child.exitCode, output).toBeNull();
  return { address: addressIn()!, child, output: () => output };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGINT');
  await ended;
  running.delete(child);
}

const textOf = async (address: string, init?: RequestInit) => (await fetch(address, init)).text();

test('[DEV1] [DEV2] a project runs by its wrangler file; its data outlive the process', {
  tag: ONCE,
}, async () => {
  write('.dev.vars', 'TOKEN="a secret"\n');
  const { address, child } = await start();
  expect(await textOf(`${address}/all`)).toBe('["kv",1,"r2",true,false,"admin of x"]');
  expect(await textOf(`${address}/vars`)).toBe('["hello","a secret",null]');
  const echoed = await fetch(`${address}/echo`, { method: 'POST', body: 'Grüße' });
  expect([await echoed.text(), echoed.headers.getSetCookie()]).toEqual(['Grüße', ['a=1']]);
  expect(await textOf(`${address}/room`)).toBe('visit 1');
  const cron = encodeURIComponent('*/5 * * * *');
  expect(await textOf(`${address}/cdn-cgi/handler/scheduled?cron=${cron}`)).toBe('ok');
  await expect.poll(() => textOf(`${address}/keys`)).toBe('["a","cron */5 * * * *","queued job"]');
  const foreign = await new Promise<number | undefined>((resolve) => {
    get(address, { headers: { host: 'stranger.example' } }, ({ statusCode }) =>
      resolve(statusCode),
    );
  });
  expect(foreign).toBe(403);
  await end(child);
  const { address: later } = await start();
  expect(await textOf(`${later}/room`)).toBe('visit 2');
  expect(await textOf(`${later}/all`)).toContain('["kv",2,');
});

test('[DEV3] changed code runs on the same data; a mistake is told with its place, until it is mended', {
  tag: ONCE,
}, async () => {
  const { address, output } = await start();
  expect(await textOf(`${address}/room`)).toBe('visit 1');
  const thrown = await fetch(`${address}/throw`);
  expect([thrown.status, await thrown.text()]).toEqual([
    500,
    expect.stringMatching(/thrown by the project\n.*src\/index\.ts:27:/),
  ]);
  write('src/index.ts', CODE.replace("'visit '", "'call '"));
  await expect.poll(() => textOf(`${address}/room`)).toMatch(/^call (?!1$)\d+$/);
  write('src/index.ts', CODE.replace('default {', 'default {{'));
  await expect
    .poll(() => textOf(`${address}/room`))
    .toMatch(/^src\/index\.ts:\d+:\d+: Expected identifier/);
  write('src/index.ts', `import { connect } from 'cloudflare:sockets';connect();${CODE}`);
  await expect
    .poll(() => textOf(`${address}/room`))
    .toMatch(/^src\/index\.ts:1:\d+: cloudflare:sockets does not exist here/);
  write('src/index.ts', `throw new Error('at import', { cause: new Error('inner') });${CODE}`);
  const place = String.raw`\n +at .*src/index\.ts:1:\d+\)`;
  const printed = new RegExp(`Error: at import${place}\nCaused by: Error: inner${place}\n$`);
  await expect.poll(output).toMatch(printed);
  expect(await textOf(`${address}/room`)).toContain('at import');
  write('src/index.ts', `throw 'a text';${CODE}`);
  await expect.poll(output).toContain("The code threw 'a text' while it was loaded.");
  write('src/index.ts', CODE);
  await expect.poll(() => textOf(`${address}/room`)).toMatch(/^visit \d+$/);
});

test('[DEV12] requests under way when the code changes: made again, or 503', {
  tag: ONCE,
}, async () => {
  const slow = (answer: string) => `
    export default {
      async fetch(request, env) {
        if (new URL(request.url).pathname === '/keys') {
          return Response.json((await env.CACHE.list()).keys.map(({ name }) => name));
        }
        await env.CACHE.put(request.method, '1');
        ${answer}
      },
    };`;
  write('wrangler.jsonc', JSON.stringify({ ...CONFIG, durable_objects: {}, services: [] }));
  write('src/index.ts', slow(`await scheduler.wait(600_000);`));
  const { address } = await start();
  const answers = ['GET', 'POST'].map((method) => fetch(address, { method }));
  const begun = () => textOf(`${address}/keys`);
  await expect.poll(begun).toBe('["GET","POST"]');
  write('src/index.ts', slow(`return new Response('new');`));
  const [read, written] = await Promise.all(answers);
  expect([read!.status, await read!.text()]).toEqual([200, 'new']);
  expect([written!.status, written!.headers.get('retry-after')]).toEqual([503, '0']);
  expect(await written!.text()).toContain('POST');
});

test('[DEV13] an error that nobody handles is printed, and the server goes on', {
  tag: ONCE,
}, async () => {
  const code = `
    export default {
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/rejects') Promise.reject(new Error('not awaited'));
        if (pathname === '/throws') queueMicrotask(() => { throw new Error('not caught'); });
        return new Response('fine');
      },
    };`;
  write('wrangler.jsonc', JSON.stringify({ ...CONFIG, durable_objects: {}, services: [] }));
  write('src/index.ts', code);
  const { address, output } = await start();
  for (const path of ['/rejects', '/throws', '/']) {
    expect(await textOf(`${address}${path}`)).toBe('fine');
  }
  await expect.poll(output).toMatch(/Uncaught Error: not awaited\n.*index\.ts:5/s);
  expect(output()).toMatch(/Uncaught Error: not caught\n.*index\.ts:6/s);
});

test('[DEV27] code whose loading never ends is reported, replaced by the next code, and left at the end', {
  tag: [LONG, ONCE],
}, async () => {
  const endless = `await new Promise(() => {});${CODE}`;
  const { address, child, output } = await start();
  write('src/index.ts', endless);
  await expect.poll(output).toContain('src/index.ts is still being loaded after 10 s');
  const waiting = textOf(`${address}/room`);
  write('src/index.ts', CODE.replace("'visit '", "'call '"));
  expect(await waiting).toBe('call 1');
  await expect.poll(output).toMatch(/Ready\.\n$/);
  write('src/index.ts', `console.log('loading');${endless}`);
  await expect.poll(output).toMatch(/loading\n$/);
  await end(child);
  expect(child.exitCode).toBe(0);
});

test('[DEV4] WebSockets reach the objects, and are closed from both sides', {
  tag: ONCE,
}, async () => {
  const { address } = await start();
  const socket = new WebSocket(`${address.replace('http', 'ws')}/room`);
  const heard: string[] = [];
  socket.on('message', (data) => heard.push(String(data)));
  await new Promise((resolve) => socket.once('open', resolve));
  socket.send('one');
  socket.send('two');
  await expect.poll(() => heard).toEqual(['echo one', 'echo two']);
  const closed = new Promise<number>((resolve) => socket.once('close', resolve));
  socket.close(3000, 'bye');
  expect(await closed).toBe(3000);
  const refused = new WebSocket(`${address.replace('http', 'ws')}/keys`);
  const answer = new Promise<Error>((resolve) => refused.once('error', resolve));
  expect(String(await answer)).toContain('Unexpected server response: 200');
});

test('[DEV5] environments and TOML; a member that does not exist is refused by name, unless one is given', {
  tag: [ONCE, LONG],
}, async () => {
  const staging = await start('--env', 'staging');
  expect(await textOf(`${staging.address}/vars`)).toBe('["hi",null,null]');
  await end(staging.child);
  write('app.toml', 'name = "shop"\nmain = "src/index.ts"\n[ai]\nbinding = "AI"\n');
  expect(failure('--config', 'app.toml')).toMatch(
    /AI \(section ai\) does not exist here\. Give a stand-in/,
  );
  write('mail.toml', 'name = "shop"\nmain = "src/index.ts"\n[[send_email]]\nname = "EMAIL"\n');
  expect(failure('--config', 'mail.toml')).toContain('EMAIL (section send_email) does not exist');
  write('fakes.ts', 'export default { AI: { run: (): string => "fake" } };');
  const { address } = await start('--config', 'app.toml', '--bindings', 'fakes.ts');
  expect(await textOf(`${address}/vars`)).toBe('[null,null,"fake"]');
});

test('[DEV28] a missing folder of assets, and members of old sections, fail the start by their names', {
  tag: [ONCE, LONG],
}, async () => {
  const only = (section: object) =>
    write('wrangler.jsonc', JSON.stringify({ name: 'shop', main: 'src/index.ts', ...section }));
  write('src/index.ts', 'export default { fetch: () => new Response("fine") };');
  const assets = { directory: 'made' };
  only({ assets });
  expect(failure()).toMatch(/assets\.directory: there is no folder .*made; make it, or remove/);
  only({ text_blobs: { TEXT: 'a.txt' } });
  expect(failure()).toContain('TEXT (section text_blobs) does not exist here. Import the file');
  only({ site: { bucket: 'public' } });
  expect(failure()).toContain('__STATIC_CONTENT (section site) does not exist here. Serve');
  only({ assets, build: { command: 'mkdir -p made' } });
  const { address } = await start();
  expect(await textOf(address)).toBe('fine');
});

test('[DEV29] env has a class by the names of its bindings, and a variable with the name of the class', {
  tag: [ONCE, LONG],
}, async () => {
  const { name, main, durable_objects } = CONFIG;
  const vars = { Room: 'a variable' };
  write('wrangler.jsonc', JSON.stringify({ name, main, durable_objects, vars }));
  write(
    'src/index.ts',
    `import { DurableObject } from 'cloudflare:workers';
    export class Room extends DurableObject { names() { return Object.keys(this.env); } }
    export default {
      async fetch(_, env, ctx) {
        const room = env.ROOM.getByName('a');
        return Response.json([env.Room, Object.keys(env), await room.names(), 'Room' in ctx.exports]);
      },
    };`,
  );
  const { address } = await start();
  const names = ['Room', 'ROOM'];
  expect(await (await fetch(address)).json()).toEqual(['a variable', names, names, true]);
});

test('[DEV30] code reads env while it is loaded, and uses its bindings when it runs', {
  tag: ONCE,
}, async () => {
  write('.dev.vars', 'TOKEN="a secret"\n');
  write(
    'src/index.ts',
    `import { DurableObject, env } from 'cloudflare:workers';
    if (!env.TOKEN) throw new Error('no token');
    const { GREETING, CACHE, ROOM } = env;
    const count = env.DB.prepare('SELECT count(*) AS n FROM item');
    export class Room extends DurableObject { named() { return this.ctx.id.name; } }
    export default {
      async fetch() {
        await CACHE.put('a', GREETING);
        return Response.json([await CACHE.get('a'), await count.first('n'), await ROOM.getByName('r').named()]);
      },
      queue() {},
    };`,
  );
  write('wrangler.jsonc', JSON.stringify({ ...CONFIG, services: [] }));
  const { address } = await start();
  expect(await textOf(address)).toBe('["hello",0,"r"]');
});

test('[DEV7] assets answer before the worker, and by their binding; no file outside of the folder does', {
  tag: ONCE,
}, async () => {
  write('public/index.html', '<h1>home</h1>');
  write('public/about.html', 'about us');
  write('outside.txt', 'outside');
  symlinkSync(join(folder, 'outside.txt'), join(folder, 'public/link.txt'));
  write('public/a b.json', '{}');
  const assets = { directory: 'public', binding: 'ASSETS' };
  write('wrangler.jsonc', JSON.stringify({ ...CONFIG, assets }));
  write(
    'src/index.ts',
    CODE.replace(
      "case '/keys'",
      "case '/asset': return env.ASSETS.fetch(new URL('/about', request.url)); case '/keys'",
    ),
  );
  const { address, child } = await start();
  const page = await fetch(`${address}/`);
  expect([await page.text(), page.headers.get('content-type')]).toEqual([
    '<h1>home</h1>',
    'text/html; charset=utf-8',
  ]);
  expect(await textOf(`${address}/about`)).toBe('about us');
  expect(await textOf(`${address}/a%20b.json`)).toBe('{}');
  expect(await textOf(`${address}/asset`)).toBe('about us');
  expect(await textOf(`${address}/vars`)).toContain('hello');
  expect(await textOf(`${address}/..%2Fwrangler.jsonc`)).toContain('["kv"');
  expect(await textOf(`${address}/link.txt`)).toContain('["kv"');
  const posted = await fetch(`${address}/about`, { method: 'POST' });
  expect(await posted.text()).toContain('["kv"');
  await end(child);
  write(
    'wrangler.jsonc',
    JSON.stringify({
      ...CONFIG,
      assets: { ...assets, not_found_handling: 'single-page-application' },
    }),
  );
  const { address: app } = await start();
  const navigate = { headers: { 'sec-fetch-mode': 'navigate' } };
  // fetch() of Node sends a mode of its own.
  const asked = await new Promise<string>((resolve) => {
    get(`${app}/deep/link`, navigate, async (response) =>
      resolve(await new Response(response as never).text()),
    );
  });
  expect(asked).toBe('<h1>home</h1>');
  expect(await textOf(`${app}/vars`)).toContain('hello');
});

test('[DEV9] the project’s own build and files as modules; globals while code is loaded; requests as the network sends them', {
  tag: [ONCE, LONG],
}, async () => {
  write('src/page.html', '<p>page</p>');
  write('src/data.bin', 'bytes');
  write('src/new.ts', "export const aliased = 'new';");
  write('docs/note.md', '# note');
  write('public/api/static.txt', 'a file');
  write('public/asset.txt', 'an asset');
  write('make.mjs', MAKE);
  write(
    'wrangler.jsonc',
    JSON.stringify({
      name: 'shop',
      main: 'src/index.ts',
      build: { command: 'node make.mjs' },
      rules: [{ type: 'Text', globs: ['**/*.md'], fallthrough: true }],
      define: { VERSION: '"1.2"' },
      alias: { old: './src/new.ts' },
      assets: { directory: 'public', run_worker_first: ['/api/*', '!/api/static.txt'] },
    }),
  );
  write(
    'src/index.ts',
    `import { EmailMessage } from 'cloudflare:email';
    import { createRequire } from 'node:module';
    import page from './page.html';
    import data from './data.bin';
    import note from '../docs/note.md';
    import { made } from '../made.js';
    import { aliased } from 'old';
    const isThere = ['WebSocket', 'WebSocketPair', 'HTMLRewriter', 'caches'].map((name) => name in globalThis);
    export default {
      fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/go') return Response.redirect(new URL('/there', request.url), 302);
        return Response.json([pathname, page, data instanceof ArrayBuffer, note, isThere, made, request.cf.country,
          typeof createRequire, request.redirect, new EmailMessage('a@b', 'c@d', '').to, VERSION, aliased]);
      },
    };`,
  );
  const { address } = await start();
  const answer = (path: string, made: string) =>
    JSON.stringify([
      path,
      '<p>page</p>',
      true,
      '# note',
      [true, true, true, true],
      made,
      'US',
      'function',
      'manual',
      'c@d',
      '1.2',
      'new',
    ]);
  expect(await textOf(`${address}/api/x`)).toBe(answer('/api/x', 'made 1'));
  expect(await textOf(`${address}/api/static.txt`)).toBe('a file');
  expect(await textOf(`${address}/asset.txt`)).toBe('an asset');
  const moved = await fetch(`${address}/go`, { redirect: 'manual' });
  expect([moved.status, moved.headers.get('location')]).toEqual([302, `${address}/there`]);
  write('src/page.html', '<p>page</p>'); // a watched folder
  await expect.poll(() => textOf(`${address}/x`)).toContain('made 2');
  write('make.mjs', "console.log('it cannot be made'); process.exitCode = 3;");
  expect(failure('--persist', 'other', '--port', '0')).toContain('it cannot be made');
});

test('[DEV8] the inspector shows and changes the objects of the server, before and after new code; no other site can', {
  tag: [LONG, ONCE],
}, async ({ context }) => {
  const { address } = await start();
  await textOf(`${address}/all`);
  expect(await textOf(`${address}/room`)).toBe('visit 1');
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await page.goto(`${address}/__ctx-storage`);
  await page.getByLabel('Class').selectOption('KvObject');
  await expect(page.getByRole('button', { name: 'abc' })).toBeVisible();
  await page.getByLabel('Class').selectOption('Room');
  await page.getByRole('button', { name: 'a', exact: true }).click();
  await page.getByRole('tab', { name: 'Keys' }).click();
  const count = page.getByRole('button', { name: /^count/ });
  await expect(count).toContainText('1');
  expect(await textOf(`${address}/room`)).toBe('visit 2');
  await expect(count).toContainText('2');
  write('src/index.ts', CODE.replace("'visit '", "'call '"));
  await expect.poll(() => textOf(`${address}/room`)).toMatch(/^call \d/);
  const written = Number(/\d+/.exec(await textOf(`${address}/room`))![0]);
  await expect(count).toContainText(`${written}`);
  await page.getByRole('tab', { name: 'SQL' }).click();
  await page.getByRole('textbox', { name: 'SQL' }).fill('CREATE TABLE made(x)');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('tab', { name: 'Tables' }).click();
  await expect(page.getByRole('button', { name: /^made/ })).toBeVisible();
  expect(problems).toEqual([]);
  // As a page of another site would ask.
  const foreign = new WebSocket(`${address.replace('http', 'ws')}/__ctx-storage`, {
    origin: 'http://stranger.example',
  });
  const refused = new Promise<Error>((resolve) => foreign.once('error', resolve));
  expect(String(await refused)).toContain('Unexpected server response: 403');
  expect(
    (await fetch(`${address}/__ctx-storage/..%2Fpackage.json`)).headers.get('content-type'),
  ).toMatch(/^application\/json/);
});

test('[VITE23] a page of the same project has its products, too', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context }) => {
  write('index.html', '<script type="module" src="./main.js"></script>');
  write(
    'main.js',
    `import { connect } from 'ctx-storage';
    import start from 'virtual:ctx-storage/start';
    const { worker } = await connect(start);
    const answer = await worker.fetch('/all');
    document.title = await answer.text();`,
  );
  const plugin = join(folder, 'node_modules/ctx-storage/dist/vite.js');
  const { ctxStorage } = (await import(pathToFileURL(plugin).href)) as typeof Plugin;
  await build({
    configFile: false,
    root: folder,
    logLevel: 'error',
    plugins: [ctxStorage()],
    build: { outDir: 'built', target: 'esnext' },
  });
  await whileServed(join(folder, 'built'), async (address) => {
    const page = await context.newPage();
    await page.goto(address);
    await expect(page).toHaveTitle('["kv",1,"r2",true,false,"admin of x"]');
  });
});

test('[DEV6] mistakes end the program with one line: the file, the environment, the port, the folder', {
  tag: [LONG, ONCE, RELEASE],
}, async () => {
  expect(failure('--config', 'nothing.json')).toContain('"nothing.json", which does not exist');
  expect(failure('--env', 'live')).toContain('no environment "live"; there are: staging');
  expect(failure('--port', '70000')).toContain('must be from 0 to 65535');
  write('wrong.toml', 'name = = 1\n');
  expect(failure('--config', 'wrong.toml')).toMatch(/wrong\.toml:1:\d+: not TOML/);
  const { address } = await start();
  expect(failure('--persist', '.ctx-storage')).toContain('is in use by process');
  const { port } = new URL(address);
  expect(failure('--persist', 'other', '--port', port)).toContain('EADDRINUSE');
});

/** The line with which the program ends. */
function failure(...parameters: string[]): string {
  const { status, stderr } = spawnSync(NODE, [PROGRAM, 'dev', ...parameters], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(2);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  return stderr;
}
