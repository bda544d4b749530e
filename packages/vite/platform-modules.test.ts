// Modules of workerd and Node that browsers lack: which file an import of one leads to, in development, in a build and in a
// pre-bundled library.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, createLogger, createServer } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { MODULE_ALIASES, TestProject, transformed, WORKER_ENTRY } from './testing/test-project.ts';

let project: TestProject;
beforeEach(() => {
  project = new TestProject();
});
afterEach(() => project.remove());

/** Writes a configuration with the flag `nodejs_compat`, and installs a stand-in for unenv with one module. */
function useNodeModules(): void {
  project.write(
    'wrangler.jsonc',
    `{ "name": "demo", "main": "src/index.ts", "compatibility_date": "2026-07-30",
       "compatibility_flags": ["nodejs_compat"] }`,
  );
  project.write('node_modules/unenv/package.json', '{ "name": "unenv", "type": "module" }');
  project.write('node_modules/unenv/node/path.js', "export const join = () => 'unenv';\n");
}

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

const REWRITER = 'export const rewriter = new HTMLRewriter();';

test('[VITE15] a module of Node that is used names itself, the file and the way out', async () => {
  project.write(
    'src/index.ts',
    "import { Buffer } from 'node:buffer';\nexport const found = Buffer;",
  );
  project.write('src/other.ts', "import path from 'node:path';\nexport const unused = () => path;");
  const server = await createServer(project.config());
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
    ...project.config(),
    resolve: { alias: { 'node:buffer': project.path('src/schema.sql') } },
  });
  expect((await aliased.transformRequest('/src/index.ts'))!.code).not.toContain('node:buffer"');
  await aliased.close();
});

test('[VITE20] modules of Node are those of unenv in development, also for a pre-bundled library', async () => {
  useNodeModules();
  project.write('src/index.ts', "export { join } from 'path';");
  project.install('library', { 'index.cjs': "exports.join = require('node:path').join;" });
  await project.withPrebundled(project.config(), 'library', async (server, file) => {
    for (const url of ['/src/index.ts', file]) {
      expect(await transformed(server, url)).toContain('/node_modules/unenv/node/path');
    }
  });
});

test('[VITE20] without unenv, a warning and the error of an import name the package and how to install it', async () => {
  useNodeModules();
  project.remove('node_modules/unenv');
  project.write('src/index.ts', "export { join } from 'node:path';");
  const customLogger = createLogger('silent');
  const warnings: string[] = [];
  customLogger.warn = (message) => warnings.push(message);
  const server = await createServer({ ...project.config(), customLogger });
  expect(warnings).toEqual([expect.stringMatching(/process, Buffer.*npm install -D unenv@2/)]);
  expect(project.read('.cache/ctx-storage/objects.env.js')).not.toContain('node-globals');
  await expect(server.transformRequest('/src/index.ts')).rejects.toThrow(
    /src\/index\.ts imports "node:path".*npm install -D unenv@2/,
  );
  await server.close();
});

test('[VITE16] modules of workerd that browsers lack are this package’s, also pre-bundled', async () => {
  project.write('src/index.ts', PLATFORM);
  project.write('src/own.ts', "export { AsyncLocalStorage } from 'node:async_hooks';");
  project.install('library', {
    'index.cjs': "module.exports = { als: require('node:async_hooks').AsyncLocalStorage };",
  });
  const config = { ...project.config(), resolve: { alias: MODULE_ALIASES } };
  await project.withPrebundled(config, 'library', async (server, file) => {
    const imported = async (url: string) => {
      const code = await transformed(server, url);
      return [...code.matchAll(/worker\/realm\/modules\/([\w-]+)\.ts/g)].map(([, name]) => name);
    };
    expect(await imported('/src/index.ts')).toEqual([
      'async-hooks',
      'async-hooks',
      'diagnostics-channel',
      'cloudflare-email',
    ]);
    expect(await imported(file)).toEqual(['async-hooks']);
    // Code that Vite runs in Node uses Node's own modules, and this package's modules for those that only workerd has.
    const { found } = await server.ssrLoadModule('/src/index.ts');
    expect(found).toEqual([true, 'from', false]);
    const { AsyncLocalStorage } = await import('node:async_hooks');
    const own = await server.ssrLoadModule('/src/own.ts');
    expect(own.AsyncLocalStorage).toBe(AsyncLocalStorage);
  });
});

test('[VITE16] modules of workerd that browsers lack are this package’s in a build', async () => {
  project.write('src/index.ts', PLATFORM);
  const config = { ...project.config(), resolve: { alias: MODULE_ALIASES } };
  expect((await project.buildMain(config)).found).toEqual([true, 'from', false]);
});

test('[VITE25] code that names HTMLRewriter imports the module that has it, and no other code', async () => {
  project.write('src/index.ts', REWRITER);
  project.write('src/other.ts', 'export const other = 1;');
  const server = await createServer({ ...project.config(), resolve: { alias: MODULE_ALIASES } });
  const imported = (url: string) => transformed(server, url);
  expect(await imported('/src/index.ts')).toContain('packages/html-rewriter/html-rewriter.ts');
  expect(await imported('/src/other.ts')).not.toContain('html-rewriter');
  expect(await imported('/src/index.ts?raw')).not.toContain('html-rewriter');
  expect(await imported('/.cache/ctx-storage/objects.worker.js')).not.toContain('html-rewriter');
  await server.close();
});

test('[VITE25] a built worker has HTMLRewriter only if its code names it; a built page never has it', {
  tags: 'long',
}, async () => {
  const scriptsThatHaveIt = async () => {
    await build({ ...project.config(), resolve: { alias: MODULE_ALIASES } });
    return project
      .assets()
      .filter(({ name, text }) => name.endsWith('.js') && text.includes('no longer valid'))
      .map(({ name }) => name);
  };
  expect(await scriptsThatHaveIt()).toEqual([]);
  project.write('src/index.ts', `${project.read('src/index.ts')}\n${REWRITER}`);
  project.write('page.js', `${project.read('page.js')}console.log('HTMLRewriter');`);
  expect(await scriptsThatHaveIt()).toEqual([expect.stringMatching(/worker/)]);
});

test('[VITE8] a pre-bundled library gets the same module as the worker, also with a cache in another folder', async () => {
  const cacheDir = mkdtempSync(join(tmpdir(), 'ctx-storage-vite-cache-'));
  project.install('library', {
    'index.js': "export { DurableObject } from 'cloudflare:workers';\n",
  });
  project.installPackage();
  const config = { ...project.config({ workerEntry: 'ctx-storage/worker' }), cacheDir };
  await project.withPrebundled(config, 'library', async (server, file) => {
    const imported = async (url: string) =>
      (await transformed(server, url)).match(/from "([^"]*)"|import "([^"]*)"/)?.[1];
    const entry = await imported(file);
    expect(entry).toMatch(/^\/node_modules\/ctx-storage\/worker\.js/);
    expect(await imported(join(cacheDir, 'ctx-storage/objects.env.js'))).toBe(entry);
    expect(await imported('/src/index.ts')).toBe(entry);
  });
  rmSync(cacheDir, { recursive: true });
});

test('[VITE8] an environment of workerd, which another plugin makes, keeps its own module', async () => {
  const server = await createServer({
    ...project.config(),
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
    return (await pluginContainer.resolveId('./schema.sql', project.path('src/index.ts')))?.id;
  };
  expect(await file('ssr')).toMatch(/schema\.sql\?raw$/);
  expect(await file('real')).toMatch(/schema\.sql$/);
  expect(server.environments.real!.plugins.filter(({ name }) => /ctx-storage/.test(name))).toEqual(
    [],
  );
  await server.close();
});
