// The plugin in Vite itself, on a small project: what it serves in development, what it builds.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build, createServer, type InlineConfig } from 'vite';
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
