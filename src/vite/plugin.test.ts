// The plugin in Vite itself, on a small project: what it serves in development, what it builds.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build, createLogger, createServer, type InlineConfig } from 'vite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type CtxStorageOptions, ctxStorage } from './plugin.ts';

const WORKER_ENTRY = resolve(import.meta.dirname, '../../worker/objects.ts');

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

/** A stand-in for the package, as it would be installed. */
function installPackage(): void {
  mkdirSync(join(root, 'node_modules/ctx-storage'));
  write(
    'node_modules/ctx-storage/package.json',
    '{ "name": "ctx-storage", "type": "module", "exports": { "./worker": "./worker.js" } }',
  );
  write(
    'node_modules/ctx-storage/worker.js',
    'export class DurableObject {}\nexport function serve() {}\n',
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
    expect(worker).toContain('worker/objects.ts');
    expect(worker).toContain('"NOTES": "Notes"');
    expect(await transform('/src/index.ts')).toContain('worker/objects.ts');
    expect(await transform('/src/schema.sql')).toContain('"CREATE TABLE notes (text);"');
    await server.close();
  });

  test('[VITE4] a build has the worker with the classes, and the WebAssembly', async () => {
    await build(config());
    const assets = readdirSync(join(root, 'built/assets'));
    const worker = assets.find((name) => /^objects\.worker-.*\.js$/.test(name))!;
    expect(assets.some((name) => name.endsWith('.wasm'))).toBe(true);
    const text = readFileSync(join(root, 'built/assets', worker), 'utf8');
    expect(text).toContain('CREATE TABLE notes (text);');
    expect(text).not.toContain('cloudflare:workers');
    const page = assets.find((name) => /^index-.*\.js$/.test(name))!;
    expect(readFileSync(join(root, 'built/assets', page), 'utf8')).toContain(worker);
  });

  test('[VITE5] a class that main does not export fails the worker, by name', async () => {
    write(
      'wrangler.jsonc',
      readFileSync(join(root, 'wrangler.jsonc'), 'utf8').replaceAll('Notes', 'Other'),
    );
    const server = await createServer(config());
    const worker = readFileSync(join(root, '.cache/ctx-storage/objects.worker.js'), 'utf8');
    expect(worker).toContain('is a class of wrangler.jsonc, and src/index.ts exports nothing');
    await server.close();
  });

  test('[VITE7] a configuration edited while the server runs is followed, a mistake in it shown', async () => {
    const errors: string[] = [];
    const customLogger = createLogger('silent');
    customLogger.error = (message) => errors.push(message);
    const server = await createServer({ ...config(), customLogger });
    const path = join(root, 'wrangler.jsonc');
    const before = readFileSync(path, 'utf8');
    const edited = async (text: string) => {
      writeFileSync(path, text);
      server.watcher.emit('change', path);
      const worker = await server.transformRequest('/.cache/ctx-storage/objects.worker.js');
      return worker?.code;
    };
    expect(await edited(before)).toContain('"NOTES": "Notes"');
    expect(await edited('{ "main": ')).toContain('"NOTES": "Notes"');
    expect(errors).toEqual([expect.stringMatching(/wrangler\.jsonc:1:11: not JSON/)]);
    expect(await edited(before.replace('NOTES', 'RENAMED'))).toContain('"RENAMED": "Notes"');
    await server.close();
  });

  test('[VITE8] a library that is pre-bundled meets the same module, also with a cache elsewhere', async () => {
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
    expect(await imported(join(cacheDir, 'ctx-storage/objects.worker.js'))).toBe(entry);
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
    await server.close();
  });

  test('[VITE9] bindings that are no classes are named in a warning', async () => {
    const warnings: string[] = [];
    const customLogger = createLogger('silent');
    customLogger.warn = (message) => warnings.push(message);
    const path = join(root, 'wrangler.jsonc');
    const kv = '"kv_namespaces": [{ "binding": "CACHE", "id": "1" }], "durable_objects"';
    writeFileSync(path, readFileSync(path, 'utf8').replace('"durable_objects"', kv));
    const server = await createServer({ ...config(), customLogger });
    expect(warnings).toEqual([
      `${path}: CACHE: bindings that are no classes; objects in a page do not have them in env.`,
    ]);
    await server.close();
  });

  test('[VITE6] without a configuration the import says what to do; a wrong path is named', async () => {
    rmSync(join(root, 'wrangler.jsonc'));
    const server = await createServer(config());
    await expect(server.transformRequest('/page.js')).rejects.toThrow(/needs a wrangler\.jsonc/);
    await server.close();
    await expect(createServer(config({ config: 'missing.jsonc' }))).rejects.toThrow(/is missing/);
    write('wrangler.jsonc', '{ "main": "src/nowhere.ts" }');
    await expect(createServer(config())).rejects.toThrow(/nowhere\.ts, which is missing/);
  });
});
