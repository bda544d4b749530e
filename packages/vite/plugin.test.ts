// Runs the plugin in Vite on small projects: the modules that are served in development, and builds.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { build, createLogger, createServer, type InlineConfig } from 'vite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CtxStorageOptions, ctxStorage } from './plugin.ts';

const WORKER_ENTRY = resolve(import.meta.dirname, '../../worker/start/entries/objects.ts');

/** The folder of the sources of `ctx-storage/worker/…`. */
const MODULES = resolve(import.meta.dirname, '../../worker/realm/modules');
const MODULE_ALIASES = [
  {
    find: 'ctx-storage/worker/html-rewriter',
    replacement: resolve(import.meta.dirname, '../html-rewriter/html-rewriter.ts'),
  },
  { find: /^ctx-storage\/worker\/(.+)$/, replacement: join(MODULES, '$1.ts') },
];

/** The bytes of an empty WebAssembly module. */
const EMPTY_WASM = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ctx-storage-vite-'));
  mkdirSync(join(root, 'src'));
  write('index.html', '<script type="module" src="./page.js"></script>');
  write('page.js', "import start from 'virtual:ctx-storage/start';\nconsole.log(start);\n");
  write('src/schema.sql', 'CREATE TABLE notes (text);');
  write(
    'src/index.ts',
    `import { DurableObject } from 'cloudflare:workers';
     import schema from './schema.sql';
     export class Notes extends DurableObject { schema(): string { return schema; } }`,
  );
  write(
    'wrangler.jsonc',
    `{ "name": "demo", "main": "src/index.ts",
       "durable_objects": { "bindings": [{ "name": "NOTES", "class_name": "Notes" }] } }`,
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  writeFileSync(join(root, path), text);
}

/** Installs a stand-in for this package in the project. */
function installPackage(): void {
  mkdirSync(join(root, 'node_modules/ctx-storage'), { recursive: true });
  write(
    'node_modules/ctx-storage/package.json',
    '{ "name": "ctx-storage", "type": "module", "exports": { "./worker": "./worker.js" } }',
  );
  write(
    'node_modules/ctx-storage/worker.js',
    'export class DurableObject {}\nexport function serve() {}\nexport function provideEnv() {}\n',
  );
}

function config(options: CtxStorageOptions = {}): InlineConfig {
  return {
    configFile: false,
    root,
    logLevel: 'silent',
    cacheDir: join(root, '.cache'),
    plugins: [ctxStorage({ workerEntry: WORKER_ENTRY, ...options })],
    build: { outDir: 'built', target: 'esnext', minify: false },
    optimizeDeps: { noDiscovery: true, include: [] },
    server: { middlewareMode: true, watch: null, hmr: false, fs: { strict: false } },
  };
}

describe('plugin', () => {
  test('[VITE3] in development the page gets the worker, and the worker the classes', async () => {
    const server = await createServer(config());
    const transform = async (url: string) => (await server.transformRequest(url))?.code ?? '';
    expect(await transform('/page.js')).toContain('/.cache/ctx-storage/start.js');
    expect(await transform('/.cache/ctx-storage/start.js')).toContain('objects.worker.js');
    const worker = await transform('/.cache/ctx-storage/objects.worker.js');
    expect(worker).toContain('worker/start/entries/objects.ts');
    expect(await transform('/.cache/ctx-storage/objects.env.js')).toContain('"NOTES": "Notes"');
    expect(await transform('/src/index.ts')).toContain('worker/start/entries/objects.ts');
    expect(await transform('/src/index.ts')).toContain('/src/schema.sql?import&raw');
    expect(await transform('/src/schema.sql?raw')).toContain('"CREATE TABLE notes (text);"');
    await server.close();
  });

  test('[VITE17] in development, /__ctx-storage is the inspector on the classes of the project', async () => {
    mkdirSync(join(root, 'node_modules/ctx-storage'), { recursive: true });
    write(
      'node_modules/ctx-storage/package.json',
      '{ "name": "ctx-storage", "type": "module", "exports": { ".": "./a.js", "./inspector": "./b.js" } }',
    );
    write('node_modules/ctx-storage/a.js', 'export function connect() {}');
    write('node_modules/ctx-storage/b.js', 'export function mountInspector() {}');
    const server = await createServer(config());
    const http = createHttpServer(server.middlewares).listen(0);
    const { port } = http.address() as AddressInfo;
    const page = await fetch(`http://localhost:${port}/__ctx-storage?directory=x`);
    expect(page.headers.get('content-type')).toBe('text/html');
    const [, script] = /src="([^"]+inspector)"/.exec(await page.text())!;
    const code = await (await fetch(`http://localhost:${port}${script}`)).text();
    expect(code).toContain('/.cache/ctx-storage/start.js');
    expect(code).toContain('/node_modules/ctx-storage/b.js');
    const other = await fetch(`http://localhost:${port}/__ctx-storage/other`);
    expect(await other.text()).not.toContain('virtual:ctx-storage/inspector');
    http.close();
    await server.close();
  });

  test('[VITE3] a build has the worker with the classes, and the WebAssembly', {
    tags: 'long',
  }, async () => {
    await build(config());
    const assets = readdirSync(join(root, 'built/assets'));
    const worker = assets.find((name) => /^objects\.worker-.*\.js$/.test(name))!;
    expect(assets.some((name) => name.endsWith('.wasm'))).toBe(true);
    const text = readFileSync(join(root, 'built/assets', worker), 'utf8');
    expect(text).toContain('CREATE TABLE notes (text);');
    expect(text).not.toMatch(/(?:from|import)\s*\(?\s*['"]cloudflare:workers/);
    const page = assets.find((name) => /^index-.*\.js$/.test(name))!;
    expect(readFileSync(join(root, 'built/assets', page), 'utf8')).toContain(worker);
  });

  test('[VITE18] a built page that starts the worker has links to the worker and the WebAssembly', {
    tags: 'long',
  }, async () => {
    write('other.html', '<script type="module">console.log(1)</script>');
    const input = ['index.html', 'other.html'].map((name) => join(root, name));
    const linksOf = (page: string) => {
      const html = readFileSync(join(root, 'built', page), 'utf8');
      return [...html.matchAll(/<link rel="(\w+)" crossorigin href="([^"]+)"/g)].map(
        ([, rel, href]) => `${rel} ${href!.replace(/-[\w-]{8}\./, '.')}`,
      );
    };
    for (const [base, options, links] of [
      [
        '/app/',
        {},
        ['modulepreload /app/assets/objects.worker.js', 'preload /app/assets/sqlite3.wasm'],
      ],
      ['./', {}, ['modulepreload ./assets/objects.worker.js', 'preload ./assets/sqlite3.wasm']],
      ['/', { preload: false }, []],
    ] as const) {
      await build({
        ...config(options),
        base,
        build: { outDir: 'built', modulePreload: { polyfill: false }, rollupOptions: { input } },
      });
      expect(linksOf('index.html').sort()).toEqual(links);
      expect(linksOf('other.html')).toEqual([]);
    }
  });

  test('[VITE12] env is filled before the modules of main are evaluated, in development and built', {
    tags: 'long',
  }, async () => {
    write(
      'src/index.ts',
      `import { DurableObject, env } from 'cloudflare:workers';
       const KEPT = env.KEEP_MS;
       export class Notes extends DurableObject { kept() { return KEPT; } }`,
    );
    write(
      'wrangler.jsonc',
      readFileSync(join(root, 'wrangler.jsonc'), 'utf8').replace(
        '{',
        '{ "vars": { "KEEP_MS": 5 },',
      ),
    );
    const server = await createServer(config({ vars: ['KEEP_MS'] }));
    const { code } = (await server.transformRequest('/.cache/ctx-storage/objects.worker.js'))!;
    await server.close();
    const imported = [...code.matchAll(/^import .* from "(.*)"/gm)].map(([, path]) => path);
    expect(imported[0]).toMatch(/objects\.env\.js/);
    expect(imported.at(-1)).toMatch(/src\/index\.ts/);
    await build(config({ vars: ['KEEP_MS'] }));
    const assets = join(root, 'built/assets');
    const built = readdirSync(assets).find((name) => /^objects\.worker-.*\.js$/.test(name))!;
    const text = readFileSync(join(assets, built), 'utf8');
    const provided = text.search(/^\s*provideEnv\(options\.env/m);
    expect(provided).toBeGreaterThan(0);
    expect(text.indexOf('KEPT = env.KEEP_MS')).toBeGreaterThan(provided);
  });

  test("[VITE5] a class that main does not export fails the worker's start, by name", async () => {
    installPackage();
    const start = async () => {
      const server = await createServer(config({ workerEntry: 'ctx-storage/worker' }));
      const worker = server.ssrLoadModule('/.cache/ctx-storage/objects.worker.js');
      await worker.finally(() => server.close());
    };
    await start();
    const other = '{ "name": "OTHER", "class_name": "Other" }';
    const text = readFileSync(join(root, 'wrangler.jsonc'), 'utf8');
    write('wrangler.jsonc', text.replace('"bindings": [', `"bindings": [${other}, `));
    await expect(start()).rejects.toThrow(
      'Other is a class of wrangler.jsonc, and src/index.ts exports nothing of that name; export the class.',
    );
  });

  test('[VITE7] a change of the configuration takes effect while the server runs; a mistake in it is reported', {
    tags: 'long',
  }, async () => {
    const errors: string[] = [];
    const customLogger = createLogger('silent');
    customLogger.error = (message) => errors.push(message);
    const server = await createServer({ ...config(), customLogger });
    const path = join(root, 'wrangler.jsonc');
    const before = readFileSync(path, 'utf8');
    const edited = async (text: string) => {
      writeFileSync(path, text);
      server.watcher.emit('change', path);
      const worker = await server.transformRequest('/.cache/ctx-storage/objects.env.js');
      return worker?.code;
    };
    expect(await edited(before)).toContain('"NOTES": "Notes"');
    expect(await edited('{ "main": ')).toContain('"NOTES": "Notes"');
    expect(errors).toEqual([expect.stringMatching(/wrangler\.jsonc:1:11: not JSON/)]);
    expect(await edited(before.replace('NOTES', 'RENAMED'))).toContain('"RENAMED": "Notes"');
    const importing = async () => (await server.transformRequest('/src/index.ts'))!.code;
    expect(await importing()).toContain('schema.sql?import&raw');
    await edited(
      before.replace(
        '{',
        '{ "rules": [{ "type": "Data", "globs": ["src/*.sql"] }, { "type": "Text", "globs": [] }],',
      ),
    );
    expect(await importing()).toContain('ctx-storage=Data');
    await server.close();
  });

  /** Writes a module that imports a file of each kind, by the default rules and a rule of the configuration. */
  function writeKinds(folder: string): void {
    writeFileSync(join(root, folder, 'page.html'), '<h1>html</h1>');
    writeFileSync(join(root, folder, 'note.txt'), 'a text');
    writeFileSync(join(root, folder, 'data.bin'), new Uint8Array([0, 255, 10]));
    writeFileSync(join(root, folder, 'empty.wasm'), EMPTY_WASM);
    writeFileSync(join(root, folder, 'read.md'), '# own');
    writeFileSync(
      join(root, folder, 'kinds.js'),
      `import html from './page.html'; import text from './note.txt'; import md from './read.md';
       import data from './data.bin'; import empty from './empty.wasm';
       import again from './empty.wasm?module';
       export const kinds = { html, text, md, data, empty, again };`,
    );
    write(
      'wrangler.jsonc',
      readFileSync(join(root, 'wrangler.jsonc'), 'utf8').replace(
        '{',
        '{ "rules": [{ "type": "Text", "globs": ["**/*.md"], "fallthrough": true }],',
      ),
    );
  }

  function expectKinds({ kinds }: { readonly kinds: Record<string, unknown> }): void {
    expect(kinds).toMatchObject({ html: '<h1>html</h1>', text: 'a text', md: '# own' });
    expect(kinds.data).toBeInstanceOf(ArrayBuffer);
    expect([...new Uint8Array(kinds.data as ArrayBuffer)]).toEqual([0, 255, 10]);
    expect(kinds.empty).toBeInstanceOf(WebAssembly.Module);
    expect(kinds.again).toBeInstanceOf(WebAssembly.Module);
  }

  test('[VITE13] files are modules by the rules of the configuration and the defaults, in development', async () => {
    writeKinds('src');
    const server = await createServer(config());
    expectKinds((await server.ssrLoadModule('/src/kinds.js')) as never);
    const { code } = (await server.transformRequest('/src/kinds.js'))!;
    for (const name of ['page.html', 'note.txt', 'data.bin', 'empty.wasm', 'read.md']) {
      const [url] = code.match(new RegExp(`/src/${name}[^"]*`))!;
      expect((await server.transformRequest(url))!.code).toMatch(/export default|__vite/);
    }
    await server.close();
  });

  test('[VITE13] files are modules by the rules in a build', async () => {
    writeKinds('src');
    write('src/index.ts', "export { kinds } from './kinds.js';");
    const lib = { entry: 'src/index.ts', formats: ['es' as const], fileName: 'kinds' };
    await build({ ...config(), build: { lib, outDir: 'built' } });
    expectKinds(await import(join(root, 'built/kinds.mjs')));
  });

  test('[VITE13] files are modules by the rules in a pre-bundled library', async () => {
    mkdirSync(join(root, 'node_modules/library'), { recursive: true });
    write(
      'node_modules/library/package.json',
      '{ "name": "library", "type": "module", "exports": "./kinds.js" }',
    );
    writeKinds('node_modules/library');
    const server = await createServer({
      ...config(),
      optimizeDeps: { noDiscovery: true, include: ['library'] },
    });
    await server.environments.client.depsOptimizer!.init();
    const { file } = server.environments.client.depsOptimizer!.metadata.optimized.library!;
    expectKinds(await import(file));
    await server.close();
  });

  test('[VITE14] standard decorators are compiled, in development and built', async () => {
    const decorated = `const callable = () => (method, context) => function () {
        return [context?.kind, method.call?.(this)];
      };
      export class Notes { @callable() hi() { return 5; } }`;
    write('src/index.ts', `// @ts-nocheck\n${decorated}`);
    write('src/plain.js', decorated);
    const server = await createServer(config());
    for (const path of ['/src/index.ts', '/src/plain.js']) {
      const { Notes } = (await server.ssrLoadModule(path)) as {
        Notes: new () => { hi(): unknown };
      };
      expect([path, new Notes().hi()]).toEqual([path, ['method', 5]]);
    }
    await server.close();
    const lib = { entry: 'src/index.ts', formats: ['es' as const], fileName: 'notes' };
    await build({ ...config(), build: { lib, outDir: 'built', target: 'esnext' } });
    const { Notes } = await import(join(root, 'built/notes.mjs'));
    expect(new Notes().hi()).toEqual(['method', 5]);
  });

  test('[VITE15] a module of Node that is used names itself, the file and the way out', async () => {
    write('src/index.ts', "import { Buffer } from 'node:buffer';\nexport const found = Buffer;");
    write('src/other.ts', "import path from 'node:path';\nexport const unused = () => path;");
    const server = await createServer(config());
    const evaluated = async (path: string) => {
      const { code } = (await server.transformRequest(path))!;
      const [, url] = code.match(/from "([^"]*node:[^"]*)"/)!;
      const module = (await server.transformRequest(url!.replace('/@id/', '')))!.code;
      return { value: new Function(module.replace('export default', 'return'))() };
    };
    const buffer = await evaluated('/src/index.ts');
    expect(() => buffer.value.Buffer).toThrow(
      /^src\/index\.ts imports "node:buffer", which browsers do not have.*resolve\.alias/,
    );
    await evaluated('/src/other.ts');
    await server.close();
    const aliased = await createServer({
      ...config(),
      resolve: { alias: { 'node:buffer': join(root, 'src/schema.sql') } },
    });
    expect((await aliased.transformRequest('/src/index.ts'))!.code).not.toContain('node:buffer"');
    await aliased.close();
  });

  /** Writes a configuration with the flag `nodejs_compat`, and installs a stand-in for unenv with one module. */
  function useNodeModules(): void {
    write(
      'wrangler.jsonc',
      `{ "name": "demo", "main": "src/index.ts", "compatibility_date": "2026-07-30",
         "compatibility_flags": ["nodejs_compat"] }`,
    );
    mkdirSync(join(root, 'node_modules/unenv/node'), { recursive: true });
    write('node_modules/unenv/package.json', '{ "name": "unenv", "type": "module" }');
    write('node_modules/unenv/node/path.js', "export const join = () => 'unenv';\n");
  }

  test('[VITE20] modules of Node are those of unenv in development, also for a pre-bundled library', async () => {
    useNodeModules();
    write('src/index.ts', "export { join } from 'path';");
    mkdirSync(join(root, 'node_modules/library'), { recursive: true });
    write('node_modules/library/package.json', '{ "name": "library", "exports": "./index.cjs" }');
    write('node_modules/library/index.cjs', "exports.join = require('node:path').join;");
    const server = await createServer({
      ...config(),
      optimizeDeps: { noDiscovery: true, include: ['library'] },
    });
    const imported = async (url: string) => (await server.transformRequest(url))!.code;
    expect(await imported('/src/index.ts')).toContain('/node_modules/unenv/node/path');
    await server.environments.client.depsOptimizer!.init();
    const { file } = server.environments.client.depsOptimizer!.metadata.optimized.library!;
    expect(await imported(file)).toContain('/node_modules/unenv/node/path');
    await server.close();
  });

  test('[VITE20] without unenv, a warning and the error of an import name the package and how to install it', async () => {
    useNodeModules();
    rmSync(join(root, 'node_modules/unenv'), { recursive: true });
    write('src/index.ts', "export { join } from 'node:path';");
    const customLogger = createLogger('silent');
    const warnings: string[] = [];
    customLogger.warn = (message) => warnings.push(message);
    const server = await createServer({ ...config(), customLogger });
    expect(warnings).toEqual([expect.stringMatching(/process, Buffer.*npm install -D unenv@2/)]);
    expect(readFileSync(join(root, '.cache/ctx-storage/objects.env.js'), 'utf8')).not.toContain(
      'node-globals',
    );
    await expect(server.transformRequest('/src/index.ts')).rejects.toThrow(
      /src\/index\.ts imports "node:path".*npm install -D unenv@2/,
    );
    await server.close();
  });

  const PLATFORM = `
    import { AsyncLocalStorage } from 'node:async_hooks';
    import { AsyncLocalStorage as bare } from 'async_hooks';
    import { channel } from 'node:diagnostics_channel';
    import { EmailMessage } from 'cloudflare:email';
    export const found = [
      AsyncLocalStorage === bare,
      new EmailMessage('from', 'to', 'raw').from,
      channel('name').hasSubscribers,
    ];`;

  test('[VITE16] modules of workerd that browsers lack are this package’s, also pre-bundled', async () => {
    write('src/index.ts', PLATFORM);
    write('src/own.ts', "export { AsyncLocalStorage } from 'node:async_hooks';");
    mkdirSync(join(root, 'node_modules/library'), { recursive: true });
    write('node_modules/library/package.json', '{ "name": "library", "exports": "./index.cjs" }');
    write(
      'node_modules/library/index.cjs',
      "module.exports = { als: require('node:async_hooks').AsyncLocalStorage };",
    );
    const server = await createServer({
      ...config(),
      resolve: { alias: MODULE_ALIASES },
      optimizeDeps: { noDiscovery: true, include: ['library'] },
    });
    const imported = async (url: string) => {
      const { code } = (await server.transformRequest(url))!;
      return [...code.matchAll(/worker\/realm\/modules\/([\w-]+)\.ts/g)].map(([, name]) => name);
    };
    expect(await imported('/src/index.ts')).toEqual([
      'async-hooks',
      'async-hooks',
      'diagnostics-channel',
      'cloudflare-email',
    ]);
    await server.environments.client.depsOptimizer!.init();
    const { file } = server.environments.client.depsOptimizer!.metadata.optimized.library!;
    expect(await imported(file)).toEqual(['async-hooks']);
    // Code that Vite runs in Node uses Node's own modules, and this package's modules for those that only workerd has.
    const { found } = await server.ssrLoadModule('/src/index.ts');
    expect(found).toEqual([true, 'from', false]);
    const { AsyncLocalStorage } = await import('node:async_hooks');
    const own = await server.ssrLoadModule('/src/own.ts');
    expect(own.AsyncLocalStorage).toBe(AsyncLocalStorage);
    await server.close();
  });

  test('[VITE16] modules of workerd that browsers lack are this package’s in a build', async () => {
    write('src/index.ts', PLATFORM);
    const lib = { entry: 'src/index.ts', formats: ['es' as const], fileName: 'platform' };
    await build({
      ...config(),
      resolve: { alias: MODULE_ALIASES },
      build: { lib, outDir: 'built', target: 'esnext' },
    });
    const { found } = await import(join(root, 'built/platform.mjs'));
    expect(found).toEqual([true, 'from', false]);
  });

  const REWRITER = 'export const rewriter = new HTMLRewriter();';

  test('[VITE25] code that names HTMLRewriter imports the module that has it, and no other code', async () => {
    write('src/index.ts', REWRITER);
    write('src/other.ts', 'export const other = 1;');
    const server = await createServer({ ...config(), resolve: { alias: MODULE_ALIASES } });
    const imported = async (url: string) => (await server.transformRequest(url))!.code;
    expect(await imported('/src/index.ts')).toContain('packages/html-rewriter/html-rewriter.ts');
    expect(await imported('/src/other.ts')).not.toContain('html-rewriter');
    expect(await imported('/src/index.ts?raw')).not.toContain('html-rewriter');
    expect(await imported('/.cache/ctx-storage/objects.worker.js')).not.toContain('html-rewriter');
    await server.close();
  });

  test('[VITE25] a built worker has HTMLRewriter only if its code names it; a built page never has it', {
    tags: 'long',
  }, async () => {
    const files = async () => {
      await build({ ...config(), resolve: { alias: MODULE_ALIASES } });
      const folder = join(root, 'built/assets');
      return readdirSync(folder)
        .filter((name) => name.endsWith('.js'))
        .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));
    };
    const having = (built: Awaited<ReturnType<typeof files>>) =>
      built.filter(({ text }) => text.includes('no longer valid')).map(({ name }) => name);
    expect(having(await files())).toEqual([]);
    write('src/index.ts', `${readFileSync(join(root, 'src/index.ts'), 'utf8')}\n${REWRITER}`);
    write('page.js', `${readFileSync(join(root, 'page.js'), 'utf8')}console.log('HTMLRewriter');`);
    expect(having(await files())).toEqual([expect.stringMatching(/worker/)]);
  });

  test('[VITE8] a pre-bundled library gets the same module as the worker, also with a cache in another folder', async () => {
    const cacheDir = mkdtempSync(join(tmpdir(), 'ctx-storage-vite-cache-'));
    const library = "export { DurableObject } from 'cloudflare:workers';\n";
    mkdirSync(join(root, 'node_modules/library'), { recursive: true });
    write('node_modules/library/package.json', '{ "name": "library", "type": "module" }');
    write('node_modules/library/index.js', library);
    installPackage();
    const server = await createServer({
      ...config({ workerEntry: 'ctx-storage/worker' }),
      cacheDir,
      optimizeDeps: { noDiscovery: true, include: ['library'] },
    });
    const imported = async (url: string) => {
      const result = await server.transformRequest(url);
      return result?.code.match(/from "([^"]*)"|import "([^"]*)"/)?.[1];
    };
    await server.environments.client.depsOptimizer!.init();
    const { file } = server.environments.client.depsOptimizer!.metadata.optimized.library!;
    const entry = await imported(file);
    expect(entry).toMatch(/^\/node_modules\/ctx-storage\/worker\.js/);
    expect(await imported(join(cacheDir, 'ctx-storage/objects.env.js'))).toBe(entry);
    expect(await imported('/src/index.ts')).toBe(entry);
    await server.close();
    rmSync(cacheDir, { recursive: true });
  });

  test('[VITE8] an environment of workerd, which another plugin makes, keeps its own module', async () => {
    const server = await createServer({
      ...config(),
      environments: { real: { resolve: { conditions: ['workerd'] } } },
    });
    const resolved = async (environment: string) => {
      const found =
        await server.environments[environment]!.pluginContainer.resolveId('cloudflare:workers');
      return found?.id;
    };
    expect(await resolved('ssr')).toBe(WORKER_ENTRY);
    expect(await resolved('real')).not.toBe(WORKER_ENTRY);
    const file = async (environment: string) => {
      const { pluginContainer } = server.environments[environment]!;
      return (await pluginContainer.resolveId('./schema.sql', join(root, 'src/index.ts')))?.id;
    };
    expect(await file('ssr')).toMatch(/schema\.sql\?raw$/);
    expect(await file('real')).toMatch(/schema\.sql$/);
    expect(
      server.environments.real!.plugins.filter(({ name }) => /ctx-storage/.test(name)),
    ).toEqual([]);
    await server.close();
  });

  test('[VITE10] a .sql file outside of the folders that Vite may serve is refused, as without the plugin', {
    tags: 'long',
  }, async () => {
    const outside = mkdtempSync(join(tmpdir(), 'ctx-storage-vite-outside-'));
    writeFileSync(join(outside, 'dump.sql'), 'secret');
    write('denied.sql', 'secret');
    const answers = async (plugins: NonNullable<InlineConfig['plugins']>) => {
      const server = await createServer({
        ...config(),
        plugins,
        server: { port: 0, host: '127.0.0.1', watch: null, hmr: false, fs: { deny: ['denied.*'] } },
      });
      await server.listen();
      const [origin] = server.resolvedUrls!.local;
      const ask = async (path: string) => {
        const response = await fetch(`${origin}${path}`, {
          headers: { 'sec-fetch-dest': 'script' },
        });
        return { status: response.status, text: await response.text() };
      };
      const found: Record<string, Awaited<ReturnType<typeof ask>>> = {};
      for (const path of [
        `@fs${outside}/dump.sql?import`,
        `@fs${outside}/dump.sql`,
        `@fs${outside}/dump.sql?t=1&import`,
        `@fs${outside}/dump.sql?import&raw`,
        `@fs${outside}/dump.sql?import&url&inline`,
        `@id/${outside}/dump.sql?import`,
        `@fs${root}/src/..%2f..%2f${basename(outside)}/dump.sql?import`,
        `@fs${outside}/dump.sql?import&x=.sql`,
        'denied.sql?import',
        `@fs${root}/denied.sql?import`,
      ]) {
        found[path] = await ask(path);
      }
      expect(await ask('src/schema.sql?import&raw')).toMatchObject({ status: 200 });
      await server.close();
      return found;
    };
    const without = await answers([]);
    const withPlugin = await answers(config().plugins!);
    for (const [path, { status, text }] of Object.entries(withPlugin)) {
      expect([path, status]).toEqual([path, without[path]!.status]);
      expect(text).not.toContain('secret');
    }
    expect(withPlugin[`@fs${outside}/dump.sql?import`]!.status).toBe(403);
    rmSync(outside, { recursive: true });
  });

  test('[HIST8] [HIST10] the bounds of the history reach the worker; wrong ones fail the start', async () => {
    for (const [history, text] of [
      [{ days: 7, bytes: 1e6 }, '"days": 7,\n    "bytes": 1000000'],
      [{ bytes: 0 }, '"bytes": 0'],
      [{ bytes: Number.POSITIVE_INFINITY }, '"bytes": 1.7976931348623157e+308'],
    ] as const) {
      await (await createServer(config({ history }))).close();
      const path = join(root, '.cache/ctx-storage/objects.env.js');
      expect(readFileSync(path, 'utf8')).toContain(text);
    }
    const history = { days: 31 };
    expect(() => ctxStorage({ history })).toThrow('ctxStorage: history.days is a number from 0');
  });

  test.for([
    "x'; globalThis.pwned = 1; '",
    'x"; globalThis.pwned = 1; "',
    'x`; globalThis.pwned = 1; `',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it must stay text in the module
    '${globalThis.pwned = 1}',
    'x\nglobalThis.pwned = 1;\u2028',
  ])('[VITE11] a name of the configuration is text in generated code: %j', async (name) => {
    const variable = `${name}/* of the variable */`;
    write(`src/${name}.ts`, 'export class Known {}');
    write(
      'wrangler.jsonc',
      JSON.stringify({
        name,
        main: `src/${name}.ts`,
        compatibility_flags: [name],
        vars: { [variable]: name },
        durable_objects: { bindings: [{ name, class_name: name }] },
      }),
    );
    const server = await createServer(config({ vars: [variable] }));
    const folder = join(root, '.cache/ctx-storage');
    const worker = readFileSync(join(folder, 'objects.worker.js'), 'utf8');
    const provides = readFileSync(join(folder, 'objects.env.js'), 'utf8').split('\n').slice(1);
    const { code: parsed } = (await server.transformRequest(join(folder, 'objects.worker.js')))!;
    await server.close();
    expect(parsed).toContain('serve');
    // The code of the module is run here, with its imports passed in.
    const [, body] = worker.split(/^(?=function exported)/m);
    const run = (main: object) => {
      const served: unknown[] = [];
      const serve = (...given: unknown[]) => served.push(...given);
      const fill = `${provides.join('\n').replace('export const', 'const')}\n`;
      new Function('provideEnv', 'serve', 'main', fill + body!)(() => {}, serve, main);
      return served;
    };
    class Exported {}
    expect(run({ [name]: Exported })).toEqual([
      { [name]: { class: Exported, storage: 'sql' } },
      {
        bindings: { [name]: name },
        scriptName: name,
        compatibilityFlags: [name],
        env: { [variable]: name },
        exports: { [name]: Exported },
      },
    ]);
    expect(() => run({})).toThrow(
      `${name} is a class of wrangler.jsonc, and src/${name}.ts exports nothing of that name`,
    );
    expect(globalThis).not.toHaveProperty('pwned');
  });

  test("[FACET12] main's exports besides its classes are in ctx.exports, for facets", async () => {
    installPackage();
    write(
      'node_modules/ctx-storage/worker.js',
      `export class DurableObject {}
       export const provideEnv = () => {};
       export function serve(classes, options) { served.push(Object.keys(classes), options.exports); }
       export const served = [];`,
    );
    write(
      'src/index.ts',
      `import { DurableObject } from 'cloudflare:workers';
       export class Notes extends DurableObject {}
       export class Facet extends DurableObject {}`,
    );
    const server = await createServer(config({ workerEntry: 'ctx-storage/worker' }));
    await server.ssrLoadModule('/.cache/ctx-storage/objects.worker.js');
    const { served } = await server.ssrLoadModule('/node_modules/ctx-storage/worker.js');
    const main = await server.ssrLoadModule('/src/index.ts');
    await server.close();
    const [classes, exports] = served as [string[], typeof main];
    expect(classes).toEqual(['Notes']);
    expect([exports.Notes, exports.Facet]).toEqual([main.Notes, main.Facet]);
    expect(exports.Facet).toBeTypeOf('function');
  });

  test('[VITE9] [VITE23] products become members of env; those that do not exist are named in a warning', async () => {
    const warnings: string[] = [];
    const customLogger = createLogger('silent');
    customLogger.warn = (message) => warnings.push(message);
    const path = join(root, 'wrangler.jsonc');
    const kv =
      '"kv_namespaces": [{ "binding": "CACHE", "id": "1" }], "ai": { "binding": "AI" }, ' +
      '"triggers": { "crons": ["* * * * *"] }, "durable_objects"';
    writeFileSync(path, readFileSync(path, 'utf8').replace('"durable_objects"', kv));
    const server = await createServer({ ...config(), customLogger });
    expect(warnings).toEqual([
      `${path}: AI (ai): these bindings do not exist here, so the env of objects in a page does not have them.`,
    ]);
    await server.close();
    const env = readFileSync(join(root, '.cache/ctx-storage/objects.env.js'), 'utf8');
    expect(env).toContain('import { cronTriggers, kv } from "ctx-storage/bindings";');
    expect(env).toContain('"CACHE": kv({"id":"1"}),');
    expect(env).toContain('crons: cronTriggers(["* * * * *"]),');
  });

  test('[VITE2] without a configuration the import names the way out; a wrong path is named', async () => {
    rmSync(join(root, 'wrangler.jsonc'));
    const server = await createServer(config());
    await expect(server.transformRequest('/page.js')).rejects.toThrow(/needs a wrangler\.jsonc/);
    await server.close();
    await expect(createServer(config({ config: 'missing.jsonc' }))).rejects.toThrow(/is missing/);
    write('wrangler.jsonc', '{ "main": "src/nowhere.ts" }');
    await expect(createServer(config())).rejects.toThrow(/nowhere\.ts, which is missing/);
  });
});
