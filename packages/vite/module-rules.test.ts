// Files that are modules by their names, in development, in a build and in a pre-bundled library; and files that may not
// be served.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createServer, type InlineConfig } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestProject, transformed } from './testing/test-project.ts';

let project: TestProject;
beforeEach(() => {
  project = new TestProject();
});
afterEach(() => project.remove());

/** A module that imports a file of each kind, by the default rules and the rule of `useMarkdownRule`; and the files. */
const KINDS = {
  'kinds.js': `import html from './page.html'; import text from './note.txt'; import md from './read.md';
     import data from './data.bin'; import empty from './empty.wasm';
     import again from './empty.wasm?module';
     export const kinds = { html, text, md, data, empty, again };`,
  'page.html': '<h1>html</h1>',
  'note.txt': 'a text',
  'data.bin': new Uint8Array([0, 255, 10]),
  // An empty WebAssembly module.
  'empty.wasm': new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]),
  'read.md': '# own',
};

function useMarkdownRule(): void {
  const rule = '{ "type": "Text", "globs": ["**/*.md"], "fallthrough": true }';
  project.edit('wrangler.jsonc', '{', `{ "rules": [${rule}],`);
}

function expectKinds({ kinds }: { readonly kinds: Record<string, unknown> }): void {
  expect(kinds).toMatchObject({ html: '<h1>html</h1>', text: 'a text', md: '# own' });
  expect(kinds.data).toBeInstanceOf(ArrayBuffer);
  expect([...new Uint8Array(kinds.data as ArrayBuffer)]).toEqual([0, 255, 10]);
  expect(kinds.empty).toBeInstanceOf(WebAssembly.Module);
  expect(kinds.again).toBeInstanceOf(WebAssembly.Module);
}

test('[VITE13] files are modules by the rules of the configuration and the defaults, in development', async () => {
  useMarkdownRule();
  for (const [name, content] of Object.entries(KINDS)) project.write(`src/${name}`, content);
  await project.withServer(project.config(), async (server) => {
    expectKinds((await server.ssrLoadModule('/src/kinds.js')) as never);
    const code = await transformed(server, '/src/kinds.js');
    for (const name of ['page.html', 'note.txt', 'data.bin', 'empty.wasm', 'read.md']) {
      const [url] = code.match(new RegExp(`/src/${name}[^"]*`))!;
      expect(await transformed(server, url)).toMatch(/export default|__vite/);
    }
  });
});

test('[VITE13] files are modules by the rules in a build', async () => {
  useMarkdownRule();
  for (const [name, content] of Object.entries(KINDS)) project.write(`src/${name}`, content);
  project.write('src/index.ts', "export { kinds } from './kinds.js';");
  expectKinds((await project.buildMain()) as never);
});

test('[VITE13] files are modules by the rules in a pre-bundled library', async () => {
  useMarkdownRule();
  project.install('library', KINDS);
  await project.withPrebundled(project.config(), 'library', async (_, file) => {
    expectKinds(await import(file));
  });
});

test('[VITE10] a .sql file outside of the folders that Vite may serve is refused, as without the plugin', {
  tags: 'long',
}, async () => {
  const outside = mkdtempSync(join(tmpdir(), 'ctx-storage-vite-outside-'));
  writeFileSync(join(outside, 'dump.sql'), 'secret');
  project.write('denied.sql', 'secret');
  const answers = async (plugins: NonNullable<InlineConfig['plugins']>) => {
    const server = await createServer({
      ...project.config(),
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
      `@fs${project.root}/src/..%2f..%2f${basename(outside)}/dump.sql?import`,
      `@fs${outside}/dump.sql?import&x=.sql`,
      'denied.sql?import',
      `@fs${project.root}/denied.sql?import`,
    ]) {
      found[path] = await ask(path);
    }
    expect(await ask('src/schema.sql?import&raw')).toMatchObject({ status: 200 });
    await server.close();
    return found;
  };
  const without = await answers([]);
  const withPlugin = await answers(project.config().plugins!);
  for (const [path, { status, text }] of Object.entries(withPlugin)) {
    expect([path, status]).toEqual([path, without[path]!.status]);
    expect(text).not.toContain('secret');
  }
  expect(withPlugin[`@fs${outside}/dump.sql?import`]!.status).toBe(403);
  rmSync(outside, { recursive: true });
});
