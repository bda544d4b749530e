// `npx ctx-storage dev` of the packed package: environments, assets, builds, mistakes.

import { symlinkSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CODE, CONFIG, DevProject, textOf } from './dev-project.ts';

/** A build command of the project, which counts its runs. */
const MAKE = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
const count = existsSync('made.js') ? Number(/\\d+/.exec(readFileSync('made.js', 'utf8'))) : 0;
writeFileSync('made.js', "export const made = 'made " + (count + 1) + "';");
`;

let project: DevProject;

beforeEach(async () => {
  project = await DevProject.make();
});
afterEach(() => project.remove());

test('[DEV12] requests under way when the code changes: made again, or 503', async () => {
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
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, durable_objects: {}, services: [] }));
  project.write('src/index.ts', slow(`await scheduler.wait(600_000);`));
  const { address } = await project.start();
  const answers = ['GET', 'POST'].map((method) => fetch(address, { method }));
  const begun = () => textOf(`${address}/keys`);
  await expect.poll(begun).toBe('["GET","POST"]');
  project.write('src/index.ts', slow(`return new Response('new');`));
  const [read, written] = await Promise.all(answers);
  expect([read!.status, await read!.text()]).toEqual([200, 'new']);
  expect([written!.status, written!.headers.get('retry-after')]).toEqual([503, '0']);
  expect(await written!.text()).toContain('POST');
});

test('[DEV13] an error that nobody handles is printed, and the server goes on', async () => {
  const code = `
    export default {
      async fetch(request) {
        const { pathname } = new URL(request.url);
        if (pathname === '/rejects') Promise.reject(new Error('not awaited'));
        if (pathname === '/throws') queueMicrotask(() => { throw new Error('not caught'); });
        return new Response('fine');
      },
    };`;
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, durable_objects: {}, services: [] }));
  project.write('src/index.ts', code);
  const { address, output } = await project.start();
  for (const path of ['/rejects', '/throws', '/']) {
    expect(await textOf(`${address}${path}`)).toBe('fine');
  }
  await expect.poll(output).toMatch(/Uncaught Error: not awaited\n.*index\.ts:5/s);
  expect(output()).toMatch(/Uncaught Error: not caught\n.*index\.ts:6/s);
});

test('[DEV27] code whose loading never ends is reported, replaced by the next code, and left at the end', async () => {
  const endless = `await new Promise(() => {});${CODE}`;
  const { address, child, output } = await project.start();
  project.write('src/index.ts', endless);
  await expect.poll(output).toContain('src/index.ts is still being loaded after 10 s');
  const waiting = textOf(`${address}/room`);
  project.write('src/index.ts', CODE.replace("'visit '", "'call '"));
  expect(await waiting).toBe('call 1');
  await expect.poll(output).toMatch(/Ready\.\n$/);
  project.write('src/index.ts', `console.log('loading');${endless}`);
  await expect.poll(output).toMatch(/loading\n$/);
  await project.end(child);
  expect(child.exitCode).toBe(0);
});

test('[DEV26] the program ends though code of the Worker has left a port and a timer', async () => {
  project.write(
    'src/index.ts',
    `import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers';
    export class Room extends DurableObject {}
    export class Admin extends WorkerEntrypoint {}
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {};
    setInterval(() => {}, 1000);
    export default {
      fetch() {
        port2.start();
        return new Response('fine');
      },
    };`,
  );
  const { address, child } = await project.start();
  expect(await textOf(address)).toBe('fine');
  await project.end(child);
  expect(child.exitCode).toBe(0);
});

test('[DEV5] environments and TOML; a member that does not exist is refused by name, unless one is given', async () => {
  const staging = await project.start('--env', 'staging');
  expect(await textOf(`${staging.address}/vars`)).toBe('["hi",null,null]');
  await project.end(staging.child);
  project.write('app.toml', 'name = "shop"\nmain = "src/index.ts"\n[ai]\nbinding = "AI"\n');
  expect(project.failure('--config', 'app.toml')).toMatch(
    /AI \(section ai\) does not exist here\. Give a stand-in/,
  );
  project.write(
    'mail.toml',
    'name = "shop"\nmain = "src/index.ts"\n[[send_email]]\nname = "EMAIL"\n',
  );
  expect(project.failure('--config', 'mail.toml')).toContain(
    'EMAIL (section send_email) does not exist',
  );
  project.write('fakes.ts', 'export default { AI: { run: (): string => "fake" } };');
  const { address } = await project.start('--config', 'app.toml', '--bindings', 'fakes.ts');
  expect(await textOf(`${address}/vars`)).toBe('[null,null,"fake"]');
});

test('[DEV28] a missing folder of assets, and members of old sections, fail the start by their names', async () => {
  const only = (section: object) =>
    project.write(
      'wrangler.jsonc',
      JSON.stringify({ name: 'shop', main: 'src/index.ts', ...section }),
    );
  project.write('src/index.ts', 'export default { fetch: () => new Response("fine") };');
  const assets = { directory: 'made' };
  only({ assets });
  expect(project.failure()).toMatch(
    /assets\.directory: there is no folder .*made; make it, or remove/,
  );
  only({ text_blobs: { TEXT: 'a.txt' } });
  expect(project.failure()).toContain(
    'TEXT (section text_blobs) does not exist here. Import the file',
  );
  only({ site: { bucket: 'public' } });
  expect(project.failure()).toContain('__STATIC_CONTENT (section site) does not exist here. Serve');
  only({ assets, build: { command: 'mkdir -p made' } });
  const { address } = await project.start();
  expect(await textOf(address)).toBe('fine');
});

test('[DEV29] env has a class by the names of its bindings, and a variable with the name of the class', async () => {
  const { name, main, durable_objects } = CONFIG;
  const vars = { Room: 'a variable' };
  project.write('wrangler.jsonc', JSON.stringify({ name, main, durable_objects, vars }));
  project.write(
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
  const { address } = await project.start();
  const names = ['Room', 'ROOM'];
  expect(await (await fetch(address)).json()).toEqual(['a variable', names, names, true]);
});

test('[DEV30] code reads env while it is loaded, and uses its bindings when it runs', async () => {
  project.write('.dev.vars', 'TOKEN="a secret"\n');
  project.write(
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
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, services: [] }));
  const { address } = await project.start();
  expect(await textOf(address)).toBe('["hello",0,"r"]');
});

test('[DEV30] [ENTRY11] members that code has read while it is loaded are those of events and objects, stand-ins too', async () => {
  project.write('stand-ins.js', "export default { AI: { run: () => 'stood in' } };");
  project.write(
    'src/index.ts',
    `import { DurableObject, env, WorkerEntrypoint } from 'cloudflare:workers';
    const early = { ...env };
    const isEarly = (given, names) => names.filter((name) => given[name] === early[name]).join();
    export class Room extends DurableObject { sees(names) { return isEarly(this.env, names); } }
    export class Admin extends WorkerEntrypoint { greet() { return 'admin'; } }
    export default {
      async fetch(request, given) {
        const names = Object.keys(given);
        const inObject = await given.ROOM.getByName('r').sees(names);
        return Response.json([names.join(), isEarly(given, names), inObject, early.AI.run(), await early.SELF.greet()]);
      },
      queue() {},
    };`,
  );
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, ai: { binding: 'AI' } }));
  const { address } = await project.start('--bindings', 'stand-ins.js');
  const [all, ...seen] = JSON.parse(await textOf(address)) as string[];
  expect(all?.split(',').sort()).toEqual([
    'AI',
    'CACHE',
    'DB',
    'FILES',
    'GREETING',
    'JOBS',
    'LIMITER',
    'ROOM',
    'SELF',
  ]);
  expect(seen).toEqual([all, all, 'stood in', 'admin']);
});

test.for([
  ['has variables and secrets as text', [], { GREETING: 'hello', LIST: '[1,2]', TOKEN: 'secret' }],
  ['is empty if a flag says so', ['nodejs_compat_do_not_populate_process_env'], {}],
] as const)('[DEV42] process.env %s, and nothing of this machine', async ([, flags, expected]) => {
  project.write('.dev.vars', 'TOKEN=secret\n');
  project.write(
    'src/index.ts',
    `import { DurableObject } from 'cloudflare:workers';
    const early = { ...process.env };
    export class Room extends DurableObject { sees() { return { ...process.env }; } }
    export default {
      async fetch(request, env) {
        const inObject = await env.ROOM.getByName('r').sees();
        const event = { ...process.env };
        process.env.COUNT = 1;
        return Response.json([early, event, inObject, process.env.NODE_ENV, process.env.COUNT]);
      },
      queue() {},
    };`,
  );
  const vars = { GREETING: 'hello', LIST: [1, 2] };
  const compatibility_flags = ['nodejs_compat', ...flags];
  project.write(
    'wrangler.jsonc',
    JSON.stringify({ ...CONFIG, services: [], vars, compatibility_flags }),
  );
  const { address } = await project.start();
  expect(JSON.parse(await textOf(address))).toEqual([
    expected,
    expected,
    expected,
    'development',
    '1',
  ]);
});

test('[DEV7] assets answer before the worker, and by their binding; no file outside of the folder does', async () => {
  project.write('public/index.html', '<h1>home</h1>');
  project.write('public/about.html', 'about us');
  project.write('outside.txt', 'outside');
  symlinkSync(join(project.folder, 'outside.txt'), join(project.folder, 'public/link.txt'));
  project.write('public/a b.json', '{}');
  const assets = { directory: 'public', binding: 'ASSETS' };
  project.write('wrangler.jsonc', JSON.stringify({ ...CONFIG, assets }));
  project.write(
    'src/index.ts',
    CODE.replace(
      "case '/keys'",
      "case '/asset': return env.ASSETS.fetch(new URL('/about', request.url)); case '/keys'",
    ),
  );
  const { address, child } = await project.start();
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
  await project.end(child);
  project.write(
    'wrangler.jsonc',
    JSON.stringify({
      ...CONFIG,
      assets: { ...assets, not_found_handling: 'single-page-application' },
    }),
  );
  const { address: app } = await project.start();
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

test('[DEV9] the project’s own build and files as modules; globals while code is loaded; requests as the network sends them', async () => {
  project.write('src/page.html', '<p>page</p>');
  project.write('src/data.bin', 'bytes');
  project.write('src/new.ts', "export const aliased = 'new';");
  project.write('docs/note.md', '# note');
  project.write('public/api/static.txt', 'a file');
  project.write('public/asset.txt', 'an asset');
  project.write('make.mjs', MAKE);
  project.write(
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
  project.write(
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
  const { address } = await project.start();
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
  project.write('src/page.html', '<p>page</p>'); // a watched folder
  await expect.poll(() => textOf(`${address}/x`)).toContain('made 2');
  project.write('make.mjs', "console.log('it cannot be made'); process.exitCode = 3;");
  expect(project.failure('--persist', 'other', '--port', '0')).toContain('it cannot be made');
});

test('[DEV6] mistakes end the program with one line: the file, the environment, the port, the folder', async () => {
  expect(project.failure('--config', 'nothing.json')).toContain(
    '"nothing.json", which does not exist',
  );
  expect(project.failure('--env', 'live')).toContain('no environment "live"; there are: staging');
  expect(project.failure('--port', '70000')).toContain('must be from 0 to 65535');
  project.write('wrong.toml', 'name = = 1\n');
  expect(project.failure('--config', 'wrong.toml')).toMatch(/wrong\.toml:1:\d+: not TOML/);
  const { address } = await project.start();
  expect(project.failure('--persist', '.ctx-storage')).toContain('is in use by process');
  const { port } = new URL(address);
  expect(project.failure('--persist', 'other', '--port', port)).toContain('EADDRINUSE');
});
