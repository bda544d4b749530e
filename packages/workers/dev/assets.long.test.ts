// The addresses of assets: miniflare and this package answer the same paths.

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

/** Returns the parts of an answer that are compared: the status, and the location or the content. */
async function comparedParts(response: {
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
  const comparedAnswers: unknown[][] = [];
  for (const path of paths) comparedAnswers.push([path, ...(await comparedParts(await ask(path)))]);
  return comparedAnswers;
}

test('[DEV7] each `html_handling` and `not_found_handling` answers all paths as miniflare does', async () => {
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

/** Contents of `.assetsignore`, each with the handling of missing pages. */
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
  '[DEV11] files that .assetsignore names are not assets: %j, %s',
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
    const ruleFiles = [
      '/_headers',
      '/_redirects',
      '/.assetsignore',
      '/dir/_headers',
      '/dir/deep/a.js',
    ];
    try {
      const paths = [...PATHS, ...ruleFiles];
      const here = await answers(paths, (path) => assets.fetch(`http://a${path}`));
      const there = await askMiniflare(
        ignoring,
        [{ html, notFound, isWorkerFirst: true }],
        ([worker]) => answers(paths, worker!),
      );
      expect(here).toEqual(there);
      // A change of .assetsignore takes effect with the next request.
      writeFileSync(join(ignoring, '.assetsignore'), 'x.txt');
      expect((await assets.fetch('http://a/about')).status).toBe(200);
      expect(await (await assets.fetch('http://a/x.txt')).text()).not.toContain('file x.txt');
    } finally {
      rmSync(ignoring, { recursive: true });
    }
  },
);

test('[DEV7] the worker answers the paths of `run_worker_first` before the assets do', async () => {
  const answersFirst = async (workerFirst: string[], path: string) => {
    const assets = new Assets(folder, { html: 'none', notFound: 'none', workerFirst });
    return (await assets.before(new Request(`http://a${path}`))) === undefined;
  };
  const matching: [patterns: string[], path: string][] = [
    [['/x.txt'], '/x.txt'],
    [['/x*'], '/x.txt'],
    [['*'], '/x.txt'],
    [['/*/index*html'], '/dir/index.html'],
    [['/d*r/*.html'], '/dir/index.html'],
  ];
  for (const [patterns, path] of matching) expect(await answersFirst(patterns, path)).toBe(true);
  const notMatching: [patterns: string[], path: string][] = [
    [[], '/x.txt'],
    [['/x'], '/x.txt'],
    [['/x.txt*.txt'], '/x.txt'],
    [['/*', '!/x*'], '/x.txt'],
    [['!/x*', '/x.txt'], '/x.txt'],
    [['/dir/*x*x*.html'], '/dir/index.html'],
  ];
  for (const [patterns, path] of notMatching)
    expect(await answersFirst(patterns, path)).toBe(false);
});
