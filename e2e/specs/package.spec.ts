import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build as bundle } from 'esbuild';
import { build, createServer as createVite } from 'vite';
import type * as Plugin from '../../packages/vite/plugin.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { Profile } from '../browsers/profile.ts';
import { LONG, ONCE, RELEASE, REST } from '../browsers/tags.ts';
import { installPacked, serveFolder } from '../package/installed.ts';
import { linkPeers, sizeOf } from '../packed/bundled.ts';
import { CLASSES, TOTAL } from '../packed/package-classes.ts';

const SCRIPT = `
  import { openStorage } from 'ctx-storage';
  const storage = await openStorage('package');
  await storage.put('a', new Set([1]));
  const row = await storage.sql.exec('SELECT sqlite_version IS NULL AS x FROM (SELECT 1 AS sqlite_version)').one();
  document.title = [...(await storage.get('a'))][0] === 1 && row.x === 0 ? 'works' : 'wrong';
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
  tag: [ONCE, REST],
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

/** Functions of a page that need the late parts, and a function that does not. */
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

/** An app of LATE_SCRIPT, and another that calls a class of its own worker and counts its changes; built with Vite. */
async function buildLate(name: string, base: string): Promise<string> {
  const project = join(directory, name);
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
    base,
    logLevel: 'error',
    build: {
      outDir: 'built',
      target: 'esnext',
      rollupOptions: { input: ['index', 'classes'].map((page) => join(project, `${page}.html`)) },
    },
  });
  return join(project, 'built');
}

test('[PKG16] a build with Vite has the late parts as a file of their own, also for a worker of classes', {
  tag: LONG,
}, async ({ sharedProfile }) => {
  const { origin, asked, close } = await serveLate(await buildLate('late', '/'));
  try {
    const page = await sharedProfile.newPage();
    await page.goto(`${origin}/index.html`);
    await expect(page).toHaveTitle('works');
    expect(asked.count).toBe(0);
    expect(await page.evaluate(() => (window as unknown as LatePage).late.count())).toBe(1);
    expect(asked.count).toBe(1);
    await page.close();
    await expectAt(`${origin}/classes.html`, sharedProfile);
    expect(asked.count).toBe(2);
  } finally {
    close();
  }
});

test('[PKG9] [PKG16] a build with Vite works whose files are on another origin, also its worker of classes', {
  tag: [LONG, RELEASE],
}, async ({ sharedProfile }) => {
  let root = directory;
  const cdn = createServer((request, response) => {
    response.setHeader('access-control-allow-origin', '*');
    const path = new URL(request.url!, 'http://cdn').pathname;
    try {
      const body = readFileSync(join(root, path));
      const type = path.endsWith('.wasm') ? 'application/wasm' : 'text/javascript';
      response.writeHead(200, { 'content-type': type }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => cdn.listen(0, 'localhost', resolve));
  const { port } = cdn.address() as AddressInfo;
  root = await buildLate('far', `http://localhost:${port}/`);
  const site = await serveFolder(root, (path) => path.endsWith('.html'));
  const origin = `http://localhost:${(site.address() as AddressInfo).port}`;
  try {
    const page = await sharedProfile.newPage();
    await page.goto(`${origin}/index.html`);
    await expect(page).toHaveTitle('works');
    expect(await page.evaluate(() => (window as unknown as LatePage).late.count())).toBe(1);
    await page.close();
    await expectAt(`${origin}/classes.html`, sharedProfile);
  } finally {
    for (const server of [cdn, site]) {
      server.close();
      server.closeAllConnections();
    }
  }
});

/**
 * A classic script in one file. The worker of the class is started from a blob; each function returns a message or a
 * result.
 */
const ONE_FILE_SCRIPT = `
  import { connect, openStorage } from 'ctx-storage';
  const places = { wasmUrl: '/dist/sqlite3.wasm', lateUrl: '/dist/late.js' };
  const tried = (work) => work().then((value) => value, ({ code, message }) => code + ' ' + message);
  const changes = async (storage) => {
    const from = await storage.getCurrentBookmark();
    await storage.put('a', Math.random());
    const { keys } = await storage.diff(from).count();
    return keys.added + keys.changed;
  };
  const classes = async (options) => {
    const blob = new Blob([await (await fetch('/objects.js')).text()]);
    const start = () => new Worker(URL.createObjectURL(blob));
    const { env, storage: storageOf } = await connect(start, options);
    return changes(await storageOf(env.Counter.getByName('a')));
  };
  window.tries = {
    storage: () => tried(async () => changes(await openStorage('a', { ...places, workerUrl: '/dist/worker.js' }))),
    classes: () => tried(() => classes(places)),
    noWorker: () => tried(() => openStorage('b', { directory: 'b' })),
    noWasm: () => tried(() => classes({ directory: 'c' })),
    noLate: () => tried(() => classes({ directory: 'd', wasmUrl: places.wasmUrl })),
  };
  document.title = 'works';
`;

interface OneFilePage {
  readonly tries: Record<'storage' | 'classes' | 'noWorker' | 'noWasm' | 'noLate', () => unknown>;
}

test('[PKG22] one classic script, and a worker from a blob, use the files that they name', {
  tag: [ONCE, LONG],
}, async ({ sharedProfile }) => {
  const project = join(directory, 'one-file');
  mkdirSync(project);
  cpSync(join(directory, 'node_modules/ctx-storage/dist'), join(project, 'dist'), {
    recursive: true,
  });
  const scripts = {
    page: ONE_FILE_SCRIPT,
    objects: `import { serve } from 'ctx-storage/worker';\n${CLASSES}\nserve({ Counter });`,
  };
  for (const [name, contents] of Object.entries(scripts)) {
    await bundle({
      stdin: { contents, resolveDir: directory },
      outfile: join(project, `${name}.js`),
      bundle: true,
      format: 'iife',
      logLevel: 'error',
    });
  }
  writeFileSync(join(project, 'index.html'), '<script src="/page.js"></script>');
  const server = await serveFolder(project);
  const page = await sharedProfile.newPage();
  const attempt = (name: keyof OneFilePage['tries']) =>
    page.evaluate((tried) => (window as unknown as OneFilePage).tries[tried](), name);
  try {
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/index.html`);
    await expect(page).toHaveTitle('works');
    expect(await attempt('storage')).toBe(1);
    expect(await attempt('classes')).toBe(1);
    expect(await attempt('noWorker')).toMatch(/^WORKER_FAILED openStorage: .*workerUrl, wasmUrl/);
    expect(await attempt('noWasm')).toMatch(/^WORKER_FAILED Loading SQLite: .*\(wasmUrl\)/);
    expect(await attempt('noLate')).toMatch(/^WORKER_FAILED diff, .*\(lateUrl\)/);
  } finally {
    await page.close();
    server.close();
    server.closeAllConnections();
  }
});

test('[PKG3] modules that Vite 7 has moved to its cache find the files that stayed', {
  tag: [ONCE, LONG, RELEASE],
}, async ({ sharedProfile }) => {
  const cache = join(directory, 'node_modules/.vite/deps');
  const inspector = await sizeOf(
    directory,
    "export { mountInspector } from 'ctx-storage/inspector'",
  );
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

test('[NODE10] a file of classes runs in a page’s own thread', { tag: [REST, RELEASE] }, async ({
  sharedProfile,
}) => {
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
  linkPeers(directory);
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

test('[PKG9] a page loads the package from another origin', { tag: REST }, async ({
  sharedProfile,
}) => {
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

/** Expects a licence text for each of these packages, and that the text of SQLite says what was changed. */
function expectTexts(file: string, names: readonly string[]): void {
  const texts = textsIn(file);
  expect([...texts.keys()]).toEqual(expect.arrayContaining([...names, '@sqlite.org/sqlite-wasm']));
  for (const [name, text] of texts) {
    expect(text, name).toMatch(
      /Permission (is hereby granted|to use)|Redistribution and use|TERMS AND CONDITIONS|Blue Oak Model License|Unicode/i,
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
