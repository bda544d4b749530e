// An app under strict policies: Content-Security-Policy as a header of every file, Trusted Types, COOP and COEP.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { build } from 'esbuild';
import { builtOnce } from '../browsers/built-once.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { type StaticSite, serveStatic } from '../browsers/static-site.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';
import { bundlePlugins } from '../package/bundle-plugins.ts';

/** The policy that docs/security.md recommends. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "connect-src 'self' blob:",
  "require-trusted-types-for 'script'",
  'trusted-types ctx-storage',
];

const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

const PAGE = '<!doctype html><title>app</title><script type="module" src="/page.js"></script>';

type Way = keyof Window['ways'];

let folder: string;

test.beforeAll(async () => {
  folder = await builtOnce('policies', async (outdir) => {
    await build({
      bundle: true,
      splitting: true,
      format: 'esm',
      target: 'es2022',
      logLevel: 'warning',
      absWorkingDir: REPOSITORY,
      outdir,
      entryPoints: {
        page: 'e2e/specs/policies/page.ts',
        'worker-of-app': 'e2e/specs/policies/worker.ts',
        worker: 'worker/start/entries/storage-worker.ts',
        'source-worker': 'packages/entries/source-worker.ts',
      },
      plugins: bundlePlugins,
    });
  });
});

/** The app, with the same headers for all its files. */
function serveApp(policy: readonly string[], headers: Readonly<Record<string, string>> = {}) {
  return serveStatic(fileOfApp, { 'content-security-policy': policy.join('; '), ...headers });
}

function fileOfApp(path: string): string | Buffer {
  if (path === '/') return PAGE;
  const isWasm = path === '/sqlite3.wasm';
  return readFileSync(
    isWasm ? join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm') : join(folder, path),
  );
}

async function outcome(page: Page, { origin }: StaticSite, way: Way): Promise<string> {
  await page.goto(`${origin}/`);
  await page.waitForFunction(() => window.ways !== undefined);
  return page.evaluate(async (name) => {
    try {
      return String(await window.ways[name]());
    } catch (error) {
      const { code, name, message } = error as Error & { code?: string };
      return `${code ?? name}: ${message}`;
    }
  }, way);
}

/** The policy with another directive in place of its own, or without it. */
function changed(name: string, directive?: string): string[] {
  const others = POLICY.filter((one) => !one.startsWith(`${name} `));
  return directive === undefined ? others : [...others, directive];
}

test('[START8] [START9] an app runs under a strict policy with Trusted Types, with COOP and COEP', {
  tag: REST,
}, async ({ context }) => {
  const page = await context.newPage();
  for (const headers of [{}, ISOLATION]) {
    const site = await serveApp(POLICY, headers);
    expect(await outcome(page, site, 'openStorage')).toBe('hello');
    expect(await outcome(page, site, 'connect')).toBe('hello');
    expect(await outcome(page, site, 'cancel')).toBe('Error: cancelled');
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(headers === ISOLATION);
    await site.close();
  }
  // Firefox asks worker-src for the modules of the source, Chromium script-src.
  const withSource = await serveApp(
    POLICY.map((one) => (/^(script|worker)-src /.test(one) ? `${one} blob:` : one)),
  );
  expect(await outcome(page, withSource, 'connectSource')).toBe('hello');
  await withSource.close();
});

test('[START8] a page that asks for Trusted Types and does not allow the policy is told its name', {
  tag: LONG,
}, async ({ context }) => {
  const page = await context.newPage();
  const site = await serveApp(changed('trusted-types', "trusted-types 'none'"));
  for (const way of ['openStorage', 'connect', 'connectSource'] as const) {
    const told = await outcome(page, site, way);
    expect(told).toMatch(/^WORKER_FAILED: /);
    expect(told).toContain('trusted-types ctx-storage');
  }
  await site.close();
  // Nothing is asked for, so nothing is missing.
  const unasked = await serveApp([
    ...changed('trusted-types', "trusted-types 'none'").filter((one) => !one.startsWith('require')),
  ]);
  expect(await outcome(page, unasked, 'connect')).toBe('hello');
  await unasked.close();
});

test("[START10] a policy that refuses WebAssembly is WORKER_FAILED that names 'wasm-unsafe-eval' and script-src", async ({
  context,
}) => {
  const page = await context.newPage();
  const site = await serveApp(changed('script-src', "script-src 'self'"));
  for (const way of ['openStorage', 'connect'] as const) {
    const told = await outcome(page, site, way);
    expect(told).toMatch(/^WORKER_FAILED: .*'wasm-unsafe-eval'.* script-src/);
  }
  await site.close();
});

for (const [what, headers] of [
  ['with COOP', ISOLATION],
  ['alone', { 'cross-origin-embedder-policy': 'credentialless' }],
] as const) {
  test(`[START32] a page with COEP ${what}, whose worker's script has none, is told so`, {
    tag: what === 'alone' ? [LONG, RELEASE] : LONG,
  }, async ({ context }) => {
    const page = await context.newPage();
    const site = await serveStatic(fileOfApp, (path) => (path === '/' ? headers : {}));
    for (const [way, script] of [
      ['openStorage', 'worker'],
      ['connect', 'worker-of-app'],
    ] as const) {
      const told = await outcome(page, site, way);
      expect(told).toMatch(/^WORKER_FAILED: .* this page has a Cross-Origin-Embedder-Policy/);
      expect(told).toContain(`${site.origin}/${script}.js has none`);
    }
    await site.close();
  });
}

test('[START32] a script that is missing, or is a page, is named with what its address answers', {
  tag: LONG,
}, async ({ context }) => {
  const page = await context.newPage();
  const script = '/worker-of-app.js';
  const missing = await serveStatic((path) => fileOfApp(path === script ? '/none.js' : path));
  expect(await outcome(page, missing, 'connect')).toContain(`${script} answers 404`);
  await missing.close();
  const replaced = await serveStatic(
    (path) => (path === script ? PAGE : fileOfApp(path)),
    (path) => (path === script ? { 'content-type': 'text/html' } : {}),
  );
  expect(await outcome(page, replaced, 'connect')).toContain(
    `${script} is text/html, not JavaScript`,
  );
  await replaced.close();
});
