// Runs the plugin in Vite on a small project: what a page and its worker are served in development, what a build has, and
// changes of the wrangler file.

import { build, createLogger, createServer } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestProject, transformed } from './testing/test-project.ts';

let project: TestProject;
beforeEach(() => {
  project = new TestProject();
});
afterEach(() => project.remove());

test('[VITE3] in development the page gets the worker, and the worker the classes', async () => {
  const server = await createServer(project.config());
  const transform = (url: string) => transformed(server, url);
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

test('[VITE3] a build has the worker with the classes, and the WebAssembly', {
  tags: 'long',
}, async () => {
  await build(project.config());
  const { name, text } = project.builtWorker();
  expect(project.assets().some((asset) => asset.name.endsWith('.wasm'))).toBe(true);
  expect(text).toContain('CREATE TABLE notes (text);');
  expect(text).not.toMatch(/(?:from|import)\s*\(?\s*['"]cloudflare:workers/);
  const page = project.assets().find((asset) => /^index-.*\.js$/.test(asset.name))!;
  expect(page.text).toContain(name);
});

test('[VITE7] a change of the configuration takes effect while the server runs; a mistake in it is reported', {
  tags: 'long',
}, async () => {
  const errors: string[] = [];
  const customLogger = createLogger('silent');
  customLogger.error = (message) => errors.push(message);
  const server = await createServer({ ...project.config(), customLogger });
  const before = project.read('wrangler.jsonc');
  const edited = async (text: string) => {
    project.write('wrangler.jsonc', text);
    server.watcher.emit('change', project.path('wrangler.jsonc'));
    return await transformed(server, '/.cache/ctx-storage/objects.env.js');
  };
  expect(await edited(before)).toContain('"NOTES": "Notes"');
  expect(await edited('{ "main": ')).toContain('"NOTES": "Notes"');
  expect(errors).toEqual([expect.stringMatching(/wrangler\.jsonc:1:11: not JSON/)]);
  expect(await edited(before.replace('NOTES', 'RENAMED'))).toContain('"RENAMED": "Notes"');
  const importing = () => transformed(server, '/src/index.ts');
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

test('[VITE2] without a configuration the import names the way out; a wrong path is named', async () => {
  project.remove('wrangler.jsonc');
  const server = await createServer(project.config());
  await expect(server.transformRequest('/page.js')).rejects.toThrow(/needs a wrangler\.jsonc/);
  await server.close();
  await expect(createServer(project.config({ config: 'missing.jsonc' }))).rejects.toThrow(
    /is missing/,
  );
  project.write('wrangler.jsonc', '{ "main": "src/nowhere.ts" }');
  await expect(createServer(project.config())).rejects.toThrow(/nowhere\.ts, which is missing/);
});
