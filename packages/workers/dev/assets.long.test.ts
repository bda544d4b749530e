// Addresses of assets: the same paths asked of miniflare and of a folder here.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { askMiniflare, folderOf } from '../testing/assets-in-miniflare.ts';
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

const folder = folderOf(FILES);
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

async function answers(paths: readonly string[], ask: (path: string) => Promise<Response>) {
  const told: unknown[][] = [];
  for (const path of paths) told.push([path, ...(await seen(await ask(path)))]);
  return told;
}

test('[DEV7] paths of files, by each `html_handling` and `not_found_handling`', async () => {
  const asked = HTML.flatMap((html) =>
    NOT_FOUND.map((notFound) => ({ html, notFound, isWorkerFirst: true, workerFirst: [] })),
  );
  await askMiniflare(folder, asked, async (workers) => {
    for (const [place, options] of asked.entries()) {
      const assets = new Assets(folder, options);
      const here = await answers(PATHS, (path) => assets.fetch(`http://a${path}`));
      expect(here, JSON.stringify(options)).toEqual(await answers(PATHS, workers[place]!));
    }
  });
});

/** `.assetsignore`, and whether pages may be missing. */
const IGNORED: readonly [patterns: string, notFound: NotFound][] = [
  ['', 'none'],
  ['# a comment\r\n*.txt\n!x.txt\n\ndir/\n', '404-page'],
  ['/404.html\nLICENSE\n/no/*.json', '404-page'],
  ['index.html\n!/index.html', '404-page'],
  ['ABOUT.html\n!/_headers\n!.assetsignore', 'none'],
  ['*', 'single-page-application'],
  ['!_redirects\nboth*\n/no\\ file', 'single-page-application'],
];

test.for(IGNORED)(
  '[DEV11] files that .assetsignore names are no assets: %j, %s',
  async ([patterns, notFound]) => {
    const ignoring = folderOf([
      ...FILES,
      '_headers',
      '_redirects',
      'dir/_headers',
      'dir/deep/a.js',
    ]);
    writeFileSync(join(ignoring, '_redirects'), '');
    writeFileSync(join(ignoring, '.assetsignore'), patterns);
    const html = 'auto-trailing-slash';
    const assets = new Assets(ignoring, { html, notFound, workerFirst: [], warn: () => {} });
    const own = ['/_headers', '/_redirects', '/.assetsignore', '/dir/_headers', '/dir/deep/a.js'];
    try {
      const paths = [...PATHS, ...own];
      const here = await answers(paths, (path) => assets.fetch(`http://a${path}`));
      const there = await askMiniflare(
        ignoring,
        [{ html, notFound, isWorkerFirst: true }],
        ([worker]) => answers(paths, worker!),
      );
      expect(here).toEqual(there);
      // It is read again when it has changed.
      writeFileSync(join(ignoring, '.assetsignore'), 'x.txt');
      expect((await assets.fetch('http://a/about')).status).toBe(200);
      expect(await (await assets.fetch('http://a/x.txt')).text()).not.toContain('file x.txt');
    } finally {
      rmSync(ignoring, { recursive: true });
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
