// The site under torture: the page and its workers bundled, so that a tab opens at once, on a free
// port.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { REPOSITORY } from '../browsers/server.ts';
import { bundlePlugins } from '../package/bundle-plugins.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.html': 'text/html',
  '.wasm': 'application/wasm',
};

const PAGE = '<!doctype html><title>tab</title><script type="module" src="/page.js"></script>';

export interface Site {
  /** Without a trailing slash. `/` is the page, `/blank.html` one without a script. */
  readonly origin: string;
  close(): Promise<void>;
}

/** Serves a page script, bundled, beside the package's worker and one with classes. */
export async function startSite(
  entries: { readonly page: string; readonly 'objects-worker': string },
  defects: readonly Plugin[] = [],
): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-site-'));
  await build({
    bundle: true,
    format: 'esm',
    target: 'es2022',
    logLevel: 'warning',
    absWorkingDir: REPOSITORY,
    outdir: folder,
    entryPoints: { ...entries, worker: 'worker/entries/storage-worker.ts' },
    plugins: [...defects, ...bundlePlugins],
  });
  const read = (path: string): string | Buffer => {
    if (path === '/') return PAGE;
    if (path === '/blank.html') return '<!doctype html><title>blank</title>';
    if (path === '/sqlite3.wasm') return readFileSync(join(REPOSITORY, 'worker/vfs/sqlite3.wasm'));
    return readFileSync(join(folder, path));
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    try {
      const content = read(pathname);
      response.setHeader('content-type', TYPES[extname(pathname) || '.html'] ?? 'text/plain');
      response.end(content);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://localhost:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
