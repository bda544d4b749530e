// The npm package as its users get it: packed, installed, bundled by Vite or not bundled at all.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build as bundle } from 'esbuild';
import { build, createServer as createVite } from 'vite';
import type * as Plugin from '../../src/tools/vite/plugin.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Profile } from '../browsers/profile.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
import { installPacked, linkPackages, serveFolder } from '../package/installed.ts';

const SCRIPT = `
  import { openStorage } from 'ctx-storage';
  const storage = await openStorage('package');
  await storage.put('a', new Set([1]));
  const row = await storage.sql.exec('SELECT sqlite_version IS NULL AS x FROM (SELECT 1 AS sqlite_version)').one();
  document.title = [...(await storage.get('a'))][0] === 1 && row.x === 0 ? 'works' : 'wrong';
`;

const NODE_SCRIPT = `
  import { createObjects, DurableObject } from 'ctx-storage/node';
  class Counter extends DurableObject {
    async add() {
      const count = ((await this.ctx.storage.get('count')) ?? 0) + 1;
      await this.ctx.storage.put('count', count);
      return count;
    }
  }
  const objects = await createObjects({ Counter }, { directory: 'objects' });
  const counter = objects.env.Counter.getByName('a');
  console.log((await Promise.all([counter.add(), counter.add(), counter.add()])).join(' '));
  await objects.close();
`;

const CLASSES = `
  import { DurableObject, env, RpcTarget } from 'ctx-storage/worker';
  class Total extends RpcTarget {
    async of(a, b) {
      const counters = [a, b].map((name) => env.Counter.getByName(name).count());
      return (await Promise.all(counters)).reduce((sum, count) => sum + count);
    }
  }
  export class Counter extends DurableObject {
    async add() {
      await this.ctx.storage.put('count', (await this.count()) + 1);
    }
    async count() {
      return (await this.ctx.storage.get('count')) ?? 0;
    }
    total() {
      return new Total();
    }
  }
`;

const TOTAL = `
  const { Counter } = objects.env;
  await Promise.all(['a', 'a', 'b'].map((name) => Counter.getByName(name).add()));
  const total = await Counter.getByName('a').total().of('a', 'b');
  await objects.close();
`;

/** A page that calls a class of a worker of its own. */
const CALLING_SCRIPT = `
  import { connect } from 'ctx-storage';
  const start = () => new Worker(new URL('./add.js', location.href), { type: 'module' });
  const { env } = await connect(start, { directory: 'moved' });
  await env.Counter.getByName('a').add();
  document.title = (await env.Counter.getByName('a').count()) > 0 ? 'works' : 'wrong';
`;

let directory: string;

test.beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-storage-package-'));
  await installPacked(directory);
});

test.afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('[PKG1] a Vite build of a page that imports the package works', { tag: LONG }, async ({
  sharedProfile,
}) => {
  writeFileSync(join(directory, 'index.html'), '<script type="module" src="./main.js"></script>');
  writeFileSync(join(directory, 'main.js'), SCRIPT);
  await build({
    configFile: false,
    root: directory,
    logLevel: 'error',
    build: { outDir: 'built', target: 'esnext' },
  });
  await expectToWork(join(directory, 'built'), '/index.html', sharedProfile);
});

test('[PKG1] the package works in a page without a bundler', async ({ sharedProfile }) => {
  const map = { imports: { 'ctx-storage': '/node_modules/ctx-storage/dist/index.js' } };
  writeFileSync(
    join(directory, 'plain.html'),
    `<script type="importmap">${JSON.stringify(map)}</script><script type="module">${SCRIPT}</script>`,
  );
  await expectToWork(directory, '/plain.html', sharedProfile);
});

test('[PKG3] Vite’s development server needs neither the plugin nor a setting', {
  tag: ONCE,
}, async ({ sharedProfile }) => {
  writeFileSync(join(directory, 'dev.html'), '<script type="module" src="./dev.js"></script>');
  writeFileSync(join(directory, 'dev.js'), SCRIPT);
  const server = await createVite({
    configFile: false,
    root: directory,
    cacheDir: join(directory, 'node_modules/.vite'),
    logLevel: 'error',
    optimizeDeps: { entries: ['dev.html'] },
    server: { host: 'localhost', port: 0, hmr: false, watch: null },
  });
  try {
    await server.listen();
    const { port } = server.httpServer!.address() as AddressInfo;
    await expectAt(`http://localhost:${port}/dev.html`, sharedProfile);
    // The test is void unless the package was bundled into the cache.
    expect(existsSync(join(directory, 'node_modules/.vite/deps/ctx-storage.js'))).toBe(true);
  } finally {
    await server.close();
    rmSync(join(directory, 'node_modules/.vite'), { recursive: true });
  }
});

/** Functions of a page that need the late parts, and one that does not. */
const LATE_SCRIPT = `
  import { openStorage } from 'ctx-storage';
  const storage = await openStorage('late');
  const from = await storage.getCurrentBookmark();
  await storage.put('a', 1);
  const tried = (work) => work().then((value) => value, ({ code, message }) => code + ' ' + message);
  window.late = {
    read: () => tried(() => storage.get('a')),
    count: () => tried(async () => (await storage.diff(from).count()).keys.added),
    copy: () => tried(async () => {
      const other = await openStorage('copy');
      await other.importDatabase(await storage.exportDatabase());
      return other.get('a');
    }),
  };
  document.title = 'works';
`;

/** A page of LATE_SCRIPT. */
interface LatePage {
  readonly late: Record<'read' | 'count' | 'copy', () => Promise<unknown>>;
}

/** Serves the folder, and `late.js` only while `isServed`; counts how often that was asked for. */
async function serveLate(root: string) {
  const asked = { isServed: true, count: 0 };
  const server = await serveFolder(root, (path) => {
    if (!/\/late[^/]*\.js$/.test(path)) return true;
    asked.count += 1;
    return asked.isServed;
  });
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://localhost:${port}`, asked, close };
}

test('[PKG16] [PKG17] the late parts are loaded when an operation needs them, and needed no more', async ({
  sharedProfile,
}) => {
  const map = { imports: { 'ctx-storage': '/node_modules/ctx-storage/dist/index.js' } };
  writeFileSync(
    join(directory, 'late.html'),
    `<script type="importmap">${JSON.stringify(map)}</script><script type="module">${LATE_SCRIPT}</script>`,
  );
  const { origin, asked, close } = await serveLate(directory);
  const page = await sharedProfile.newPage();
  const late = (what: keyof LatePage['late']) =>
    page.evaluate((name) => (window as unknown as LatePage).late[name](), what);
  try {
    await page.goto(`${origin}/late.html`);
    await expect(page).toHaveTitle('works');
    expect(asked.count).toBe(0);
    asked.isServed = false;
    const refused = await late('count');
    expect(refused).toMatch(/^WORKER_FAILED diff, merge and revert: .*late\.js/);
    expect(await late('copy')).toMatch(/^WORKER_FAILED importDatabase: /);
    expect(await late('read')).toBe(1);
    asked.isServed = true;
    expect(await late('count')).toBe(1);
  } finally {
    close();
  }
  // The server is gone.
  expect(await late('count')).toBe(1);
  expect(await late('copy')).toBe(1);
  await page.close();
});

test('[PKG16] a build with Vite has the late parts as a file of their own, also for a worker of classes', {
  tag: LONG,
}, async ({ sharedProfile }) => {
  const project = join(directory, 'late');
  const files = {
    'index.html': '<script type="module" src="./page.js"></script>',
    'classes.html': '<script type="module" src="./classes.js"></script>',
    'page.js': LATE_SCRIPT,
    'classes.js': `import { connect } from 'ctx-storage/connect';
      const start = () => new Worker(new URL('./objects.worker.js', import.meta.url), { type: 'module' });
      const { env, storage: storageOf } = await connect(start);
      const storage = await storageOf(env.Counter.getByName('a'));
      const from = await storage.getCurrentBookmark();
      await storage.put('b', 1);
      document.title = (await storage.diff(from).count()).keys.added === 1 ? 'works' : 'wrong';`,
    'objects.worker.js': `import { serve } from 'ctx-storage/worker';\n${CLASSES}\nserve({ Counter });`,
  };
  mkdirSync(project);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  await build({
    configFile: false,
    root: project,
    logLevel: 'error',
    build: {
      outDir: 'built',
      target: 'esnext',
      rollupOptions: { input: ['index', 'classes'].map((name) => join(project, `${name}.html`)) },
    },
  });
  const { origin, asked, close } = await serveLate(join(project, 'built'));
  try {
    await expectAt(`${origin}/index.html`, sharedProfile);
    expect(asked.count).toBe(0);
    await expectAt(`${origin}/classes.html`, sharedProfile);
    expect(asked.count).toBe(1);
  } finally {
    close();
  }
});

test('[PKG3] modules that Vite 7 has moved to its cache find the files that stayed', {
  tag: [ONCE, LONG],
}, async ({ sharedProfile }) => {
  const cache = join(directory, 'node_modules/.vite/deps');
  const inspector = await sizeOf("export { mountInspector } from 'ctx-storage/inspector'");
  expect(inspector.bytes).toBeLessThan(20_000);
  // The part that reads files of rows, the timeline with its branches, and what they share with the first part.
  expect(inspector.later).toBeLessThan(27_000);
  const dist = join(directory, 'node_modules/ctx-storage/dist');
  await bundle({
    entryPoints: ['index', 'objects'].map((name) => join(dist, `${name}.js`)),
    outdir: cache,
    bundle: true,
    splitting: true,
    format: 'esm',
    logLevel: 'error',
  });
  const map = JSON.stringify({ imports: { 'ctx-storage': '/node_modules/.vite/deps/index.js' } });
  const page = (script: string) =>
    `<script type="importmap">${map}</script><script type="module">${script}</script>`;
  writeFileSync(join(directory, 'moved.html'), page(SCRIPT));
  writeFileSync(join(directory, 'calling.html'), page(CALLING_SCRIPT));
  // A worker has no import map.
  const classes = CLASSES.replace('ctx-storage/worker', '/node_modules/.vite/deps/objects.js');
  writeFileSync(
    join(directory, 'add.js'),
    `import { serve } from '/node_modules/.vite/deps/objects.js';\n${classes}\nserve({ Counter });`,
  );
  await expectToWork(directory, '/moved.html', sharedProfile);
  await expectToWork(directory, '/calling.html', sharedProfile);
});

test('[NODE10] a file of classes runs in a page’s own thread', async ({ sharedProfile }) => {
  const entries = ['worker', 'in-process'].map((name) => {
    const file = name === 'worker' ? 'objects' : name;
    return [`ctx-storage/${name}`, `/node_modules/ctx-storage/dist/${file}.js`];
  });
  const script = `
    import { createObjects } from 'ctx-storage/in-process';
    import * as classes from './counter.js';
    const wasm = new URL('/node_modules/ctx-storage/dist/sqlite3.wasm', location.href);
    const objects = await createObjects(classes, { wasm });
    ${TOTAL}
    document.title = total === 3 ? 'works' : 'wrong';`;
  const map = JSON.stringify({ imports: Object.fromEntries(entries) });
  writeFileSync(join(directory, 'counter.js'), CLASSES);
  writeFileSync(
    join(directory, 'in-process.html'),
    `<script type="importmap">${map}</script><script type="module">${script}</script>`,
  );
  await expectToWork(directory, '/in-process.html', sharedProfile);
});

test('[VITE3] a wrangler project is built with the plugin, and its class runs in the page', {
  tag: LONG,
}, async ({ sharedProfile }) => {
  linkDependencies();
  const project = join(directory, 'project');
  const files = {
    'wrangler.jsonc': `{ "name": "app", "main": "worker.js", // as it is deployed
      "vars": { "STEP": 1 },
      "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] } }`,
    'key.txt': 'count',
    'worker.js': `import { DurableObject, env } from 'cloudflare:workers';
      import key from './key.txt';
      const STEP = env.STEP;
      const callable = () => (method) => method;
      export class Counter extends DurableObject {
        @callable()
        async add() {
          const { AsyncLocalStorage } = await import('node:async_hooks');
          const step = new AsyncLocalStorage();
          const count = await step.run(STEP, async () => {
            return ((await this.ctx.storage.get(key)) ?? 0) + step.getStore();
          });
          await this.ctx.storage.put(key, count);
          return count;
        }
      }`,
    'index.html': '<script type="module" src="./page.js"></script>',
    'page.js': `import { connect } from 'ctx-storage';
      import start from 'virtual:ctx-storage/start';
      const { env } = await connect(start);
      const counter = env.COUNTER.getByName('a');
      await counter.add();
      document.title = (await counter.add()) === 2 ? 'works' : 'wrong';`,
  };
  mkdirSync(project);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(project, name), text);
  const installed = join(directory, 'node_modules/ctx-storage/dist/vite.js');
  const { ctxStorage } = (await import(pathToFileURL(installed).href)) as typeof Plugin;
  await build({
    configFile: false,
    root: project,
    cacheDir: join(project, 'cache'),
    logLevel: 'error',
    plugins: [ctxStorage({ vars: ['STEP'] })],
    build: { outDir: 'built', target: 'esnext' },
  });
  await expectToWork(join(project, 'built'), '/index.html', sharedProfile);
});

test('[PKG8] outside of a page the error says where to call it, and nothing is loaded', {
  tag: ONCE,
}, () => {
  writeFileSync(
    join(directory, 'server.mjs'),
    `import { connect, openStorage } from 'ctx-storage';
    for (const call of [() => openStorage('a'), () => connect(() => new Worker('x'))]) {
      console.log(await call().catch(({ code, message }) => code + ' ' + message));
    }`,
  );
  const said = execFileSync(process.execPath, ['server.mjs'], { cwd: directory, encoding: 'utf8' });
  const [storage, connection] = said.trim().split('\n');
  expect(storage).toMatch(/^OPFS_UNAVAILABLE openStorage: .* Call openStorage\(\) in a browser/);
  expect(connection).toMatch(/^OPFS_UNAVAILABLE connect: .* Call connect\(\) in a browser/);
});

test('[PKG9] a page loads the package from another origin', async ({ sharedProfile }) => {
  const other = await serveFolder(directory);
  try {
    const { port } = other.address() as AddressInfo;
    const address = `http://localhost:${port}/node_modules/ctx-storage/dist/index.js`;
    const map = JSON.stringify({ imports: { 'ctx-storage': address } });
    writeFileSync(
      join(directory, 'apart.html'),
      `<script type="importmap">${map}</script><script type="module">${SCRIPT}</script>`,
    );
    await expectToWork(directory, '/apart.html', sharedProfile);
  } finally {
    other.close();
    other.closeAllConnections();
  }
});

test('[NODE10] classes run in Node, and the program starts', { tag: ONCE }, () => {
  linkDependencies();
  writeFileSync(join(directory, 'classes.mjs'), NODE_SCRIPT);
  const run = (...parameters: string[]) =>
    execFileSync(process.execPath, parameters, { cwd: directory, encoding: 'utf8' });
  expect(run('classes.mjs')).toBe('1 2 3\n');
  expect(run('classes.mjs')).toBe('4 5 6\n');

  writeFileSync(join(directory, 'counter.mjs'), CLASSES);
  writeFileSync(
    join(directory, 'total.mjs'),
    `import { createObjects } from 'ctx-storage/node';
    import * as classes from './counter.mjs';
    const objects = await createObjects(classes);
    ${TOTAL}
    console.log(String(total));`,
  );
  expect(run('total.mjs')).toBe('3\n');

  const program = 'node_modules/ctx-storage/dist/cli.js';
  expect(run(program, 'deprecations', 'list', '--at', '2025-06-15')).toContain('2025-06-15');
});

test("[PKG2] the package depends on its files' imports, and on nothing else", {
  tag: [ONCE, LONG],
}, async () => {
  const installed = join(directory, 'node_modules/ctx-storage');
  const dist = join(installed, 'dist');
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  const { metafile } = await bundle({
    entryPoints: files.filter((file) => file.endsWith('.js')).map((file) => join(dist, file)),
    outdir: join(directory, 'unused'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  const imported = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.map(({ path }) => path),
  );
  const typed = files
    .filter((file) => file.endsWith('.d.ts'))
    .map((file) => readFileSync(join(dist, file), 'utf8'))
    .flatMap((text) => [...text.matchAll(/(?:from|import\() ?['"]([^.'"][^'"]*)['"]/g)])
    .map(([, path]) => path!);
  const names = [...imported, ...typed].filter((path) => !path.startsWith('node:')).map(packageOf);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(manifest).not.toHaveProperty('scripts');
  const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  // Types of the plugin name an entry of the package itself.
  const others = new Set(names.filter((name) => name !== manifest.name));
  // The plugin gives its modules to the bundler by their paths.
  others.add('unenv');
  expect([...others].sort()).toEqual(declared.sort());
});

const intoParts = {
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  write: false,
  logLevel: 'error',
} as const;

/**
 * A bundler's output for an import, in bytes of brotli: the bytes that a page loads before it calls
 * anything.
 */
async function sizeOf(code: string): Promise<{ bytes: number; later: number; text: string }> {
  const { outputFiles } = await bundle({
    ...intoParts,
    stdin: { contents: code, resolveDir: directory },
    outdir: directory,
  });
  const sizes = outputFiles.map(({ contents }) => brotliCompressSync(contents).length);
  const index = outputFiles.findIndex(({ path }) => path.endsWith('stdin.js'));
  const later = sizes.reduce((sum, bytes) => sum + bytes) - sizes[index]!;
  return { bytes: sizes[index]!, later, text: outputFiles[index]!.text };
}

test('[PKG7] a page, a file of classes and the worker are as small as is promised', {
  tag: ONCE,
}, async () => {
  const page = await sizeOf("export * from 'ctx-storage'");
  expect(page.bytes).toBeLessThan(6_000);
  expect(page.later).toBeLessThan(58_000);
  const connecting = await sizeOf("export { connect } from 'ctx-storage'");
  expect(connecting.bytes).toBeLessThan(2_000);
  expect(connecting.text).not.toContain('new Worker(');
  expect((await sizeOf("export { isStorageError } from 'ctx-storage'")).bytes).toBeLessThan(1_000);
  const classes = await sizeOf("export { DurableObject, env } from 'ctx-storage/worker'");
  expect(classes.bytes + classes.later).toBeLessThan(3_000);
  const dist = join(directory, 'node_modules/ctx-storage/dist');
  const worker = brotliCompressSync(readFileSync(join(dist, 'worker.js')));
  expect(worker.length).toBeLessThan(120_500);
  const late = brotliCompressSync(readFileSync(join(dist, 'late.js')));
  expect(late.length).toBeLessThan(18_700);
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' });
  expect(files.filter((file) => file.endsWith('.map'))).toEqual([]);
});

test('[PKG10] an app that only connects emits no worker of the package', {
  tag: ONCE,
}, async () => {
  const emitted = async (code: string) => {
    const stdin = { contents: code, resolveDir: directory };
    const { outputFiles, metafile } = await bundle({
      ...intoParts,
      stdin,
      outdir: directory,
      metafile: true,
    });
    const named = /new URL\("\.\/worker\.js"/;
    const all = Object.keys(metafile.inputs).filter((file) => file.includes('ctx-storage/dist'));
    return {
      used: outputFiles.some(({ text }) => named.test(text)),
      seen: all.some((file) => named.test(readFileSync(file, 'utf8'))),
    };
  };
  expect(await emitted("export { openStorage } from 'ctx-storage'")).toEqual({
    used: true,
    seen: true,
  });
  expect(await emitted("export { connect } from 'ctx-storage'")).toMatchObject({ used: false });
  expect(await emitted("export * from 'ctx-storage/connect'")).toEqual({
    used: false,
    seen: false,
  });
});

test('[PKG6] an entry for a library imports that and nothing else', { tag: ONCE }, async () => {
  for (const library of ['drizzle-orm', 'kysely', 'react', 'solid-js', 'svelte', 'vue']) {
    const name = library.replace(/-(orm|js)$/, '');
    const entry = join(directory, `node_modules/ctx-storage/dist/${name}.js`);
    const { metafile } = await bundle({
      entryPoints: [entry],
      bundle: true,
      format: 'esm',
      packages: 'external',
      write: false,
      metafile: true,
    });
    const [{ imports, inputs }] = Object.values(metafile.outputs) as [(typeof metafile.outputs)[0]];
    expect(new Set(imports.map(({ path }) => packageOf(path)))).toEqual(new Set([library]));
    expect(Object.keys(inputs)).toHaveLength(1);
    const text = readFileSync(entry, 'utf8');
    expect(text.length, library).toBeLessThan(10_240);
    expect(text).not.toContain('new Worker');
  }
});

const TYPED_CLASSES: Readonly<Record<string, string>> = {
  // Types of this package alone, in a project of a page.
  'own.ts': `
    import { type AlarmInvocationInfo, DurableObject, type DurableObjectState, type SqlStorageCursor } from 'ctx-storage/worker';
    interface Env { readonly LIMIT: number }
    export class Note extends DurableObject<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
      rows(): SqlStorageCursor { return this.ctx.storage.sql.exec('SELECT 1'); }
      limit = () => this.env.LIMIT;
      alarm(info: AlarmInvocationInfo) { return info.retryCount; }
    }
  `,
  // The stock template of Vite with the plugin's types: the import of workerd, rows as interfaces, a socket's events.
  'template.ts': `
    import { DurableObject, type DurableObjectState, type ObjectWebSocket } from 'cloudflare:workers';
    import { openStorage } from 'ctx-storage';
    import start from 'virtual:ctx-storage/start';
    interface Env { readonly LIMIT: number }
    interface Row { readonly id: number; readonly body: string }
    export class Note extends DurableObject<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
      rows(): Row[] { return this.ctx.storage.sql.exec<Row>('SELECT 1').toArray(); }
      followed() { return this.ctx.storage.sql.live<Row>('SELECT 1').subscribe((rows) => rows?.[0]?.body.length); }
    }
    export async function onPage(): Promise<string | undefined> {
      const { sql } = await openStorage('a');
      sql.live<Row>('SELECT 1').subscribe((rows) => rows?.[0]?.body.length);
      return (await sql.exec<Row>('SELECT 1').toArray())[0]?.body;
    }
    export function listen(socket: ObjectWebSocket): Worker {
      socket.addEventListener('message', ({ data }) => typeof data === 'string' && data.length);
      socket.addEventListener('close', ({ code, reason }) => code + reason.length);
      socket.onmessage = ({ data }) => socket.send(data instanceof Blob ? '' : data);
      // @ts-expect-error the data of a message is not a number
      socket.addEventListener('message', ({ data }) => data * 2);
      // @ts-expect-error a row is an object
      socket.addEventListener('close', () => void openStorage('a').then(({ sql }) => sql.exec<string>('')));
      return start();
    }
  `,
  // The same class where the runtime's types are global, as in a project of Cloudflare's.
  'workerd.ts': `
    import { DurableObject } from 'ctx-storage/worker';
    import { DurableObject as Platform } from 'cloudflare:workers';
    interface Env { readonly LIMIT: number }
    export class Note extends DurableObject<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
      alarm(info: AlarmInvocationInfo) { return info.retryCount + this.env.LIMIT; }
      library(use: (storage: DurableObjectStorage) => void) { use(this.ctx.storage); }
    }
    export class Moved extends Platform<Env> {
      constructor(ctx: DurableObjectState, env: Env) { super(ctx, env); }
    }
  `,
};

test('[PKG5] a class with a typed constructor compiles with the types of this package and of workerd', {
  tag: [LONG, ONCE],
}, () => {
  linkDependencies();
  const project = join(directory, 'types');
  mkdirSync(project, { recursive: true });
  const libs: Readonly<Record<string, object>> = {
    'own.ts': { lib: ['ESNext', 'DOM', 'DOM.Iterable'], types: [] },
    'template.ts': {
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      types: ['ctx-storage/vite/client'],
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
    },
    'workerd.ts': {
      lib: ['ESNext'],
      types: [
        join(REPOSITORY, 'node_modules/@cloudflare/workers-types'),
        'ctx-storage/vite/client',
      ],
    },
  };
  for (const [file, text] of Object.entries(TYPED_CLASSES)) {
    writeFileSync(join(project, file), text);
    const compilerOptions = {
      ...libs[file],
      target: 'ES2023',
      module: 'preserve',
      moduleResolution: 'bundler',
      strict: true,
      noEmit: true,
      // Names of workerd's types and of the DOM exclude each other; the template has this setting.
      skipLibCheck: file !== 'own.ts',
    };
    const config = join(project, `${file}.json`);
    writeFileSync(config, JSON.stringify({ compilerOptions, files: [file] }));
    const tsc = join(REPOSITORY, 'node_modules/typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', config], { encoding: 'utf8' });
    expect(stdout, file).toBe('');
  }
});

/** `@scope/name` of `@scope/name/module.js`. */
function packageOf(path: string): string {
  const [, name] = /^((?:@[^/]+\/)?[^/]+)/.exec(path)!;
  return name!;
}

/** The packages that an installation would bring, and the optional peers of a project. */
function linkDependencies(): void {
  const { peerDependencies } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
  linkPackages(directory, Object.keys(peerDependencies));
}

async function expectToWork(root: string, path: string, profile: Profile): Promise<void> {
  const server = await serveFolder(root);
  try {
    await expectAt(`http://localhost:${(server.address() as AddressInfo).port}${path}`, profile);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function expectAt(address: string, profile: Profile): Promise<void> {
  const page = await profile.newPage();
  await page.goto(address);
  await expect(page).toHaveTitle('works');
  await page.close();
}

/** Each package's name with its text. */
function textsIn(file: string): Map<string, string> {
  const sections = file.split(/\n-{80}\n\n/);
  return new Map(
    sections.map((section) => {
      const end = section.indexOf('\n');
      return [section.slice(0, end).split(' ')[0]!, section.slice(end).trim()];
    }),
  );
}

/** Both say as much of SQLite, and no package is without a text. */
function expectTexts(file: string, names: readonly string[]): void {
  const texts = textsIn(file);
  expect([...texts.keys()]).toEqual(expect.arrayContaining([...names, '@sqlite.org/sqlite-wasm']));
  for (const [name, text] of texts) {
    expect(text, name).toMatch(
      /Permission (is hereby granted|to use)|Redistribution and use|TERMS AND CONDITIONS|Unicode/i,
    );
  }
  const sqlite = texts.get('@sqlite.org/sqlite-wasm');
  expect(sqlite).toContain('END OF TERMS AND CONDITIONS');
  expect(sqlite).toContain('sqlite3.wasm is a changed copy');
  expect(sqlite).toContain('public domain');
}

test('[PKG13] [DEMO14] the package and the demo have the licence of every package in their bundles, and say that SQLite was changed', {
  tag: ONCE,
}, async ({ demoSite }) => {
  const file = join(directory, 'node_modules/ctx-storage/dist/licences.txt');
  const names = ['@noble/hashes', 'comlink', 'es-module-lexer', 'idb', 'preact', 'valibot'];
  expectTexts(readFileSync(file, 'utf8'), names);
  const { port } = new URL(demoSite.origin);
  const answer = await fetch(`http://localhost:${port}/licences.txt`);
  const ofDemo = await answer.text();
  expectTexts(ofDemo, ['@codemirror/view', '@preact/signals', 'sucrase', 'workbox-precaching']);
  expect(ofDemo).toContain('Unicode-3.0');
});
