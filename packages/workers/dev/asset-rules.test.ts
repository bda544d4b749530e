// The files `_redirects` and `_headers` of a folder of assets: miniflare and this package answer the same requests.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { type AssetsSettings, askMiniflare, folderOf } from '../testing/assets-in-miniflare.ts';
import { parseHeaders } from './asset-rules.ts';
import { Assets, type HtmlHandling, type NotFound } from './assets.ts';

const REDIRECTS = `
# a comment
/old /about
/moved /x.txt 301 # and why
/other /about?a=1#part 303
/kept/* /dir/:splat 307
/blog/:year/:name /x.txt?y=:year&n=:name 308
/away https://example.com/new?b=2#c
/away/* https://example.com/:splat
/stay/:page /:page 200
/inside /x.txt 200
/nothing /none.txt 200
/page /about.html 200
/slashes/* //dir//:splat
/old /x.txt
/about.html /x.txt
/x.txt/* /x.txt
no-slash /x.txt
/ä /x.txt
/late /about 302
/dir/* /index.html
/ /index
/few
/many /a 302 /b
/code /a 404
/port https://example.com:8080/a
/http http://example.com/a
/proxy https://example.com/a 200
/two/*/* /x.txt
/same/:a/:a /x.txt
/:first/deep /x.txt?f=:first
https://example.com/x /x.txt
`;

const HEADERS = `
x-before: 1
/*
  X-All: yes
  cache-control: no-store
  X-Twice: a
  X-Twice: b
/x.txt
  x-all: more
  ! content-type
  X-Empty:
  no colon
  x y: z
/dir/*
  X-Splat: in :splat
/:page
  X-Page: :page, :pages
https://*/about
  X-Host: :splat
https://:host/dir/
  X-Named: :host
https://localhost:1234/about
  X-Port: 1
/two/*/*
  X-Two: 1
/none
  X-None: 1
/empty
/about
  ! X-Twice
  X-All: last
`;

const FILES = ['index.html', 'about.html', 'dir/index.html', '404.html', 'x.txt', 'dir/y.txt'];
const PATHS = [
  ...['/old', '/old?q=1', '/moved', '/moved?q', '/other', '/other?q=1', '/kept/a/b?q=1', '/kept/'],
  ...[
    '/kept',
    '/blog/2026/first',
    '/blog/2026',
    '/blog/2026/first/x',
    '/away',
    '/away?q',
    '/away/a',
  ],
  ...['/stay/x.txt', '/stay/about', '/stay/none', '/inside', '/inside?q', '/nothing', '/page'],
  ...[
    '/slashes/y.txt',
    '/about.html',
    '/about',
    '/x.txt',
    '/x.txt/',
    '/no-slash',
    '/%C3%A4',
    '/late',
  ],
  ...['/dir/', '/dir/y.txt', '/', '/few', '/many', '/code', '/port', '/http', '/proxy', '/two/a/b'],
  ...[
    '/same/a/a',
    '/same/a/b',
    '/a/deep',
    '/_headers',
    '/_redirects',
    '/none',
    '/none/x',
    '/index',
  ],
  ...['/empty', '/OLD', '/old/', '/dir/none', '/dir/index.html'],
];

const POSTED = ['/old?q=1', '/kept/a', '/away', '/none'];
/**
 * POSTs of assets, which are asked only if the worker comes first: otherwise the worker gets them here, but miniflare
 * refuses.
 */
const POSTED_TO_ASSETS = ['/inside', '/x.txt', '/dir/y.txt'];

const COMPARED_HEADERS = [
  ...['location', 'content-type', 'cache-control', 'x-all', 'x-twice', 'x-empty', 'x-splat'],
  ...['x-page', 'x-host', 'x-named', 'x-port', 'x-two', 'x-none', 'x-before'],
];

const folder = folderOf(FILES);
writeFileSync(join(folder, '_redirects'), REDIRECTS);
writeFileSync(join(folder, '_headers'), HEADERS);
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * The `cache-control` that miniflare gives to every asset, and this package does not. It is left out of the comparison.
 */
const DEFAULT_CACHING = 'public, max-age=0, must-revalidate';

async function comparedParts(response: Response): Promise<unknown> {
  const text = await response.text();
  const headers = COMPARED_HEADERS.map(
    (name) => [name, response.headers.get(name)] as const,
  ).filter(([, value]) => value !== null && value !== DEFAULT_CACHING);
  // If the answer is not a file, its body and content-type are not compared.
  const body = text.startsWith('the file') || text === 'worker' ? text : '';
  const shown = body === '' ? headers.filter(([name]) => name !== 'content-type') : headers;
  return [response.status, Object.fromEntries(shown), body];
}

interface AssetSettings extends AssetsSettings {
  readonly html: HtmlHandling;
  readonly notFound: NotFound;
}

function askInMiniflare(asked: AssetSettings): Promise<unknown[]> {
  return askMiniflare(folder, [asked], ([worker]) => askAll(asked, worker!));
}

async function askHere(asked: AssetSettings): Promise<unknown[]> {
  const { html, notFound, isWorkerFirst } = asked;
  const assets = new Assets(folder, { html, notFound, workerFirst: [], warn: () => {} });
  return askAll(asked, async (path, method) => {
    const request = new Request(`http://w0.localhost${path}`, { method });
    if (isWorkerFirst) return assets.fetch(request);
    return (await assets.before(request)) ?? new Response('worker');
  });
}

async function askAll(
  { isWorkerFirst }: AssetSettings,
  ask: (path: string, method: string) => Promise<Response>,
) {
  const posted = isWorkerFirst ? [...POSTED, ...POSTED_TO_ASSETS] : POSTED;
  const answers: unknown[] = [];
  for (const path of PATHS) answers.push([path, await comparedParts(await ask(path, 'GET'))]);
  for (const path of posted)
    answers.push(['POST', path, await comparedParts(await ask(path, 'POST'))]);
  return answers;
}

const ASKED: readonly AssetSettings[] = [
  { html: 'auto-trailing-slash', notFound: 'none', isWorkerFirst: true },
  { html: 'auto-trailing-slash', notFound: 'none', isWorkerFirst: false },
  { html: 'none', notFound: '404-page', isWorkerFirst: true },
  { html: 'drop-trailing-slash', notFound: 'single-page-application', isWorkerFirst: true },
  { html: 'auto-trailing-slash', notFound: '404-page', isWorkerFirst: false },
];

test.for(ASKED)(
  '[DEV10] rules of a folder answer as in miniflare: %o',
  { tags: 'long' },
  async (asked) => {
    expect(await askHere(asked)).toEqual(await askInMiniflare(asked));
  },
);

test('[DEV10] a line that is not a rule is reported, with its number', async () => {
  const reported: string[] = [];
  const warn = (problem: string) => void reported.push(problem);
  const assets = new Assets(folder, { html: 'none', notFound: 'none', workerFirst: [], warn });
  await assets.fetch('http://here/');
  await assets.fetch('http://here/');
  const lines = (file: string, text: string, wrong: readonly string[]) =>
    text
      .split('\n')
      .flatMap((line, i) => (wrong.includes(line.trim()) ? [`${file} ${i + 1}`] : []));
  const found = reported.map((problem) => /^(\w+), line (\d+): /.exec(problem)!.slice(1).join(' '));
  const wrongRedirects = [
    ...['/old /x.txt', '/dir/* /index.html', '/few', '/many /a 302 /b', '/code /a 404'],
    ...['/http http://example.com/a', '/proxy https://example.com/a 200', '/two/*/* /x.txt'],
    ...['/same/:a/:a /x.txt', 'https://example.com/x /x.txt'],
  ];
  const wrongHeaders = [
    ...[
      'x-before: 1',
      'X-Empty:',
      'no colon',
      'x y: z',
      'https://localhost:1234/about',
      '/two/*/*',
    ],
  ];
  expect(found).toEqual([
    ...lines('_redirects', REDIRECTS, wrongRedirects),
    ...lines('_headers', HEADERS, wrongHeaders),
    ...lines('_headers', HEADERS, ['/empty']),
  ]);
});

test('[DEV10] a header that no response may have is reported, and the other headers still apply', () => {
  const { rules, problems } = parseHeaders('/a\n  x-ü: name\n  x-value: ☃\n  x-good: 1\n  ! a b\n');
  expect(problems.map((problem) => /^line (\d+): ./.exec(problem)?.[1])).toEqual(['2', '3', '5']);
  expect(rules.map(({ set, unset }) => [[...set], unset])).toEqual([[[['x-good', '1']], []]]);
});
