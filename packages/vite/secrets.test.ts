// The plugin keeps secrets from the visitors of a page, and from everybody who reaches Vite's development server.

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { build, createLogger, createServer, type InlineConfig, resolveConfig } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type CtxStorageOptions, ctxStorage } from './plugin.ts';

const WORKER_ENTRY = resolve(import.meta.dirname, '../../worker/start/entries/objects.ts');
const SECRET = 'TOP-SECRET';

const SECRET_FILES = [
  '.dev.vars',
  '.dev.vars.production',
  'packages/app/.dev.vars',
  '.wrangler/state/v3/d1/data.sqlite',
  '.ctx-storage/objects/a/log-00000001',
  'packages/app/.ctx-storage/bundle/worker-1.mjs',
  'wrangler.jsonc',
];

/** Links to these files under names that are not denied. */
const LINKS: Readonly<Record<string, string>> = {
  'notes.txt': '.dev.vars',
  'settings.js': 'wrangler.jsonc',
  'public/icon.svg': '.dev.vars',
  'public/chain.txt': 'notes.txt',
  data: '.wrangler',
  objects: '.ctx-storage',
};

const LINKED_FILES = [
  'notes.txt',
  'settings.js',
  'icon.svg',
  'public/icon.svg',
  'chain.txt',
  'data/state/v3/d1/data.sqlite',
  'objects/objects/a/log-00000001',
];

const CONFIG = {
  name: 'app',
  main: 'index.js',
  vars: { GREETING: 'hello', STRIPE: SECRET, nested: { key: SECRET } },
  durable_objects: { bindings: [{ name: 'NOTES', class_name: 'Notes' }] },
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ctx-storage-secrets-'));
  for (const path of SECRET_FILES) write(path, `KEY=${SECRET}`);
  write('index.html', '<script type="module" src="./page.js"></script>');
  write('page.js', "import start from 'virtual:ctx-storage/start';\nconsole.log(start);\n");
  write(
    'index.js',
    "import { DurableObject } from 'cloudflare:workers';\nexport class Notes extends DurableObject {}",
  );
  write('wrangler.jsonc', JSON.stringify(CONFIG));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function config(options: CtxStorageOptions = {}, warnings: string[] = []): InlineConfig {
  const customLogger = createLogger('silent');
  customLogger.warn = (message) => warnings.push(message);
  return {
    configFile: false,
    root,
    customLogger,
    cacheDir: join(root, '.cache'),
    plugins: [ctxStorage({ workerEntry: WORKER_ENTRY, ...options })],
    build: { outDir: 'built', target: 'esnext', minify: false },
    optimizeDeps: { noDiscovery: true, include: [] },
  };
}

/** Requests exactly this path, which `fetch` would normalize. */
function ask(port: number, path: string): Promise<{ status: number; text: string }> {
  return new Promise((done, fail) => {
    const headers = { host: `localhost:${port}`, 'sec-fetch-dest': 'script' };
    const asked = request({ port, host: '127.0.0.1', path, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part) => {
        text += part;
      });
      answer.on('end', () => done({ status: answer.statusCode ?? 0, text }));
    });
    asked.on('error', fail);
    asked.end();
  });
}

test("[VITE19] the development server gives out no secrets of a wrangler project, whatever the address's form, nor through a link to one", {
  tags: 'long',
}, async () => {
  mkdirSync(join(root, 'public'));
  for (const [link, to] of Object.entries(LINKS)) symlinkSync(join(root, to), join(root, link));
  symlinkSync(join(root, 'page.js'), join(root, 'linked-page.js'));
  const server = await createServer({
    ...config(),
    server: { port: 0, host: '127.0.0.1', watch: null, hmr: false, fs: { allow: [root] } },
  });
  await server.listen();
  const { port } = server.httpServer!.address() as AddressInfo;
  const forms = (file: string) => [
    `/${file}`,
    `//${file}`,
    `/./${file}`,
    `/src/../${file}`,
    `/${file}/`,
    `/${file.replaceAll('.', '%2e')}`,
    `/${file.replaceAll('.', '%252e')}`,
    `/${file.replaceAll('/', '%2f')}`,
    `/${file.toUpperCase()}`,
    `/@fs${root}/${file}`,
    `/@fs/${root}/${file}`,
    `/@id/${root}/${file}`,
    `/@id/__x00__${root}/${file}`,
    `/${file}%00`,
    `/${file}::$DATA`,
    `/${file}\\`,
  ];
  const queries = [
    '',
    '?raw',
    '?import',
    '?import&raw',
    '?raw??',
    '?url&inline',
    '?import&url&inline',
  ];
  const tricks = [
    '?.svg?raw',
    '?t=1',
    '?ctx-storage=Data&url&inline',
    '#x',
    '?worker&inline',
    '?raw#x',
  ];
  // In base64, the secret contains one of these texts, depending on its position.
  const encoded = ['VE9QLVNFQ1JFV', 'RPUC1TRUNSRV', 'UT1AtU0VDUkVU'];
  const given: string[] = [];
  for (const file of [...SECRET_FILES, ...LINKED_FILES]) {
    for (const form of forms(file)) {
      for (const query of [...queries, ...tricks]) {
        const { text } = await ask(port, encodeURI(form + query).replaceAll('%25', '%'));
        if ([SECRET, ...encoded].some((word) => text.includes(word))) given.push(form + query);
      }
    }
  }
  expect(given).toEqual([]);
  // The server must still serve the files of the project.
  expect((await ask(port, '/page.js')).status).toBe(200);
  expect((await ask(port, '/linked-page.js')).status).toBe(200);
  await server.close();
});

test("[VITE19] the plugin adds to the denied files of Vite's list, or of the user's list in its place", async () => {
  const denied = async (plugins: NonNullable<InlineConfig['plugins']>, deny?: string[]) => {
    const fs = deny === undefined ? {} : { deny };
    const { server } = await resolveConfig({ ...config(), plugins, server: { fs } }, 'serve');
    return server.fs.deny;
  };
  const plugins = [ctxStorage({ workerEntry: WORKER_ENTRY })];
  const own = await denied([]);
  expect(await denied(plugins)).toEqual(expect.arrayContaining([...own, '.dev.vars']));
  const chosen = await denied(plugins, ['private.*']);
  expect(chosen).toEqual(expect.arrayContaining(['private.*', '.dev.vars']));
  expect(chosen).not.toContain(own[0]);
});

function built(folder = join(root, 'built')): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true });
  return files
    .filter((file) => file.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    .join('\n');
}

test('[VITE9] a page has only the variables that the option names, and a warning names the others', {
  tags: 'long',
}, async () => {
  const warnings: string[] = [];
  await build(config({ vars: ['GREETING'] }, warnings));
  expect(built()).toContain('"GREETING": "hello"');
  expect(built()).not.toContain(SECRET);
  // Only the plugin's warnings are compared, because Vite warns of builds that take long.
  expect(warnings.filter((warning) => warning.startsWith(root))).toEqual([
    `${join(root, 'wrangler.jsonc')}: STRIPE, nested: these variables are left out of the env of objects in a page, ` +
      'whose files every visitor can read. Name the public ones: ctxStorage({ vars: ["STRIPE", "nested"] }).',
  ]);
  const generated = readFileSync(join(root, '.cache/ctx-storage/objects.env.js'), 'utf8');
  expect(generated).not.toContain(SECRET);
  // Without the option, a page has no variables.
  await build(config());
  expect(built()).not.toContain('GREETING');
});

test('[VITE9] a variable that the configuration does not have is an error that names it', async () => {
  await expect(resolveConfig(config({ vars: ['GREETINGS'] }), 'build')).rejects.toThrow(
    /wrangler\.jsonc:1:\d+: the option vars of ctxStorage\(\) names GREETINGS, which is no variable here/,
  );
});
