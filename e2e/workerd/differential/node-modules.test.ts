// Node's modules and globals in a browser's worker, as the plugin builds it, and in workerd: the same questions.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Miniflare } from 'miniflare';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeApis } from '../../../packages/vite/node-apis.ts';
import { ctxStorage } from '../../../packages/vite/plugin.ts';
import { NEWEST } from '../versions.ts';
import { askWorkerd } from '../workerd.ts';

const REPOSITORY = resolve(import.meta.dirname, '../../..');
const QUESTIONS = join(import.meta.dirname, 'node-modules.ts');
const OWN_MODULES = {
  find: /^ctx-storage\/worker\/(.+)$/,
  replacement: join(REPOSITORY, 'worker/realm/modules/$1.ts'),
};
const DATE = '2026-07-30';

/** The differences of unenv that docs/compatibility.md lists. */
const DIFFERENT = [
  'assert: equal',
  'crypto: createHash',
  'crypto: createHmac',
  'crypto: timingSafeEqual',
  'process: cwd',
  'process: platform',
  'stream: Readable.from',
  'stream: Transform',
  'string_decoder: a split character',
  'util: inherits',
  'util: inspect',
];

let root: string;
beforeAll(() => {
  // Inside of the repository, whose node_modules has unenv.
  root = mkdtempSync(join(REPOSITORY, 'node_modules/.node-modules-'));
  const file = (name: string, text: string) => writeFileSync(join(root, name), text);
  file('index.html', '<script type="module" src="./page.js"></script>');
  file('page.js', "import start from 'virtual:ctx-storage/start';\nstart();\n");
  file('library.js', 'export const provideEnv = () => {};\nexport const serve = () => {};\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Builds a page whose worker has the module `main`; the file of the worker. */
async function built(main: string, config: object, page = ''): Promise<string> {
  writeFileSync(join(root, 'main.ts'), main);
  writeFileSync(join(root, 'wrangler.json'), JSON.stringify({ main: 'main.ts', ...config }));
  writeFileSync(
    join(root, 'page.js'),
    `import start from 'virtual:ctx-storage/start';\nstart();\n${page}`,
  );
  const outDir = join(root, 'built');
  await build({
    configFile: false,
    root,
    logLevel: 'silent',
    cacheDir: join(root, '.cache'),
    resolve: { alias: [OWN_MODULES] },
    plugins: [ctxStorage({ workerEntry: join(root, 'library.js') })],
    build: { outDir, emptyOutDir: true, target: 'esnext', minify: false },
  });
  const worker = readdirSync(join(outDir, 'assets')).find((name) =>
    name.startsWith('objects.worker'),
  );
  return join(outDir, 'assets', worker!);
}

/**
 * Returns the value that the worker's main module leaves in the global `answers`. The worker's thread has globals of
 * its own.
 */
async function evaluated(file: string): Promise<Record<string, unknown>> {
  const code = `
    const { parentPort } = require('node:worker_threads');
    import(${JSON.stringify(file)})
      .then(() => globalThis.answers)
      .then((answers) => parentPort.postMessage(answers));`;
  const thread = new Worker(code, { eval: true });
  try {
    return await new Promise((done, fail) => {
      thread.once('message', done);
      thread.once('error', fail);
    });
  } finally {
    await thread.terminate();
  }
}

describe('modules of Node', async () => {
  const there = (await askWorkerd({
    main: `
      import { answersAll } from './node-modules.ts';
      export default { fetch: async () => Response.json(await answersAll()) };`,
    folder: import.meta.dirname,
    classes: {},
    compatibilityDate: DATE,
    compatibilityFlags: ['nodejs_compat'],
    isSilent: true,
  })) as Record<string, unknown>;
  let here: Record<string, unknown>;
  beforeAll(async () => {
    const main = `
      import { answersAll } from ${JSON.stringify(QUESTIONS)};
      globalThis.answers = answersAll();`;
    const config = { compatibility_date: DATE, compatibility_flags: ['nodejs_compat'] };
    here = JSON.parse(JSON.stringify(await evaluated(await built(main, config))));
  });

  test.for(Object.keys(there))('[VITE20] %s', (what) => {
    if (DIFFERENT.includes(what)) expect(here[what]).not.toEqual(there[what]);
    else expect(here[what]).toEqual(there[what]);
  });

  test('[VITE21] without the flag, a build refuses an import of the worker by name', async () => {
    const main = "import fs from 'node:fs';\nglobalThis.answers = fs;";
    await expect(built(main, { compatibility_date: DATE })).rejects.toThrow(
      /main\.ts imports "node:fs".*nodejs_compat/,
    );
    const off = ['no_nodejs_compat', 'no_nodejs_compat_v2'];
    const config = { compatibility_date: '2026-11-17', compatibility_flags: off };
    await expect(built(main, config)).rejects.toThrow(/nodejs_compat/);
  });

  test('[VITE21] a built page has none of its worker’s modules of Node', async () => {
    const config = { compatibility_date: DATE, compatibility_flags: ['nodejs_compat'] };
    const main = "import { join } from 'node:path';\nglobalThis.answers = join('a', '..', 'b');";
    const page = "import { join } from 'node:path';\nconsole.log(join);\n";
    const file = await built(main, config, page);
    expect(await evaluated(file)).toBe('b');
    const folder = dirname(file);
    const pages = readdirSync(folder).filter((name) => name.startsWith('index'));
    const code = pages.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
    expect(code).toContain('console.log');
    expect(code).not.toContain('isAbsolute');
    expect(readFileSync(file, 'utf8')).toContain('isAbsolute');
  });
});

/** Dates and flags; workerd of 1.20260730.1 knows no date after its own. */
const CASES: readonly (readonly [date: string, ...flags: string[]])[] = [
  ['2024-01-01'],
  ['2024-01-01', 'nodejs_compat'],
  ['2024-01-01', 'nodejs_compat_v2'],
  ['2024-09-22', 'nodejs_compat'],
  ['2024-09-23', 'nodejs_compat'],
  ['2024-10-01', 'nodejs_compat', 'no_nodejs_compat_v2'],
  [DATE],
  ['2026-08-03'],
  ['2026-08-04'],
  ['2026-11-17', 'no_nodejs_compat'],
  ['2026-11-17', 'no_nodejs_compat_v2'],
  ['2026-11-17', 'no_nodejs_compat', 'no_nodejs_compat_v2'],
];
const isNewest = process.env.MINIFLARE_WORKERD_PATH === NEWEST;

test.for(CASES.filter(([date]) => isNewest || date <= DATE))(
  '[VITE22] %s: the date and the flags decide as in workerd',
  async ([date, ...flags]) => {
    const contents = `
      const has = (name) => import(name).then(() => true, () => false);
      const names = ['node:path', 'path'];
      export default {
        fetch: async () =>
          Response.json([...(await Promise.all(names.map(has))), typeof process, typeof Buffer]),
      };`;
    // Given as a list, so that miniflare does not look for the modules itself.
    const modules = [{ type: 'ESModule' as const, path: 'main.js', contents }];
    const miniflare = new Miniflare({
      modules,
      compatibilityDate: date,
      compatibilityFlags: flags,
    });
    const found = await miniflare
      .dispatchFetch('http://workerd/')
      .then((response) => response.json())
      .finally(() => miniflare.dispose());
    const apis = nodeApis(date, flags);
    const isAll = apis === 'all';
    const types = isAll ? ['object', 'function'] : ['undefined', 'undefined'];
    expect(found).toEqual([apis !== 'none', isAll, ...types]);
  },
);
