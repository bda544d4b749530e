// Addresses of assets: the same paths asked of miniflare and of a folder here.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Miniflare, type MiniflareOptions } from 'miniflare';
import { afterAll, expect, test } from 'vitest';
import { Assets, type HtmlHandling, type NotFound } from './assets.ts';

const FILES = [
  '404.html',
  'index.html',
  'about.html',
  'dir/index.html',
  'dir/404.html',
  'both.html',
  'both/index.html',
  'no/a b.html',
  'no/ü.json',
  'x.txt',
  'LICENSE',
];

const STEMS = ['', '/about', '/dir', '/both', '/none', '/x.txt', '/LICENSE', '/dir/none'];
const SUFFIXES = ['', '/', '/index', '/index/', '/index.html', '.html'];
const OTHERS = ['/no/a%20b', '/no/a%20b.html', '/no/%C3%BC.json', '//about', '/dir//', '/ABOUT'];
const PATHS = [
  ...STEMS.flatMap((stem) => SUFFIXES.map((suffix) => stem + suffix)).filter((path) =>
    path.startsWith('/'),
  ),
  ...OTHERS,
  '/%61bout',
  '//none',
  '/%6Eone',
  '/%78.txt',
  '/about.html?q=1',
  '/dir/?q=1',
];

const folder = mkdtempSync(join(tmpdir(), 'assets-'));
for (const file of FILES) {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), `the file ${file}`);
}
afterAll(() => rmSync(folder, { recursive: true }));

const HTML: readonly HtmlHandling[] = [
  'auto-trailing-slash',
  'force-trailing-slash',
  'drop-trailing-slash',
  'none',
];
const NOT_FOUND: readonly NotFound[] = ['none', '404-page', 'single-page-application'];

/** Status and destination, or content. */
async function seen(response: {
  status: number;
  headers: { get(name: string): string | null };
  text(): Promise<string>;
}) {
  const location = response.headers.get('location');
  const text = await response.text();
  return [
    response.status,
    location ?? (response.status === 404 && !text.includes('file') ? '' : text),
  ];
}

test.for(HTML.flatMap((html) => NOT_FOUND.map((notFound) => [html, notFound] as const)))(
  '[DEV7] paths of files, by %s and %s',
  async ([html, notFound]) => {
    const miniflare = new Miniflare({
      modules: true,
      script: 'export default { fetch: (request, env) => env.ASSETS.fetch(request) }',
      compatibilityDate: '2026-07-01',
      name: 'w',
      assets: {
        directory: folder,
        binding: 'ASSETS',
        workerName: 'w',
        routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: true },
        assetConfig: { html_handling: html, not_found_handling: notFound },
      },
    } as MiniflareOptions);
    try {
      const { origin } = await miniflare.ready;
      const assets = new Assets(folder, { html, notFound, workerFirst: [] });
      const [there, here]: unknown[][] = [[], []];
      for (const path of PATHS) {
        there!.push([path, ...(await seen(await fetch(origin + path, { redirect: 'manual' })))]);
        here!.push([path, ...(await seen(await assets.fetch(origin + path)))]);
      }
      expect(here).toEqual(there);
    } finally {
      await miniflare.dispose();
    }
  },
);

test('[DEV7] patterns of paths that the worker answers first', async () => {
  const answersFirst = async (workerFirst: string[], path: string) => {
    const assets = new Assets(folder, { html: 'none', notFound: 'none', workerFirst });
    return (await assets.before(new Request(`http://a${path}`))) === undefined;
  };
  const asked: [patterns: string[], path: string][] = [
    [['/x.txt'], '/x.txt'],
    [['/x*'], '/x.txt'],
    [['*'], '/x.txt'],
    [['/*/index*html'], '/dir/index.html'],
    [['/d*r/*.html'], '/dir/index.html'],
  ];
  for (const [patterns, path] of asked) expect(await answersFirst(patterns, path)).toBe(true);
  const other: [patterns: string[], path: string][] = [
    [[], '/x.txt'],
    [['/x'], '/x.txt'],
    [['/x.txt*.txt'], '/x.txt'],
    [['/*', '!/x*'], '/x.txt'],
    [['!/x*', '/x.txt'], '/x.txt'],
    [['/dir/*x*x*.html'], '/dir/index.html'],
  ];
  for (const [patterns, path] of other) expect(await answersFirst(patterns, path)).toBe(false);
});
