// The site under torture: the page and its workers bundled, so that a tab opens at once, on a free
// port.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { REPOSITORY } from '../../browsers/server.ts';
import { serveStatic } from '../../browsers/static-site.ts';
import { bundlePlugins } from '../../package/bundle-plugins.ts';

const PAGE = '<!doctype html><title>tab</title><script type="module" src="/page.js"></script>';

export interface Site {
  /** The origin without a trailing slash. `/` is the page, and `/blank.html` a page without a script. */
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
    entryPoints: { ...entries, worker: 'worker/start/entries/storage-worker.ts' },
    plugins: [...defects, ...bundlePlugins],
  });
  const read = (path: string): string | Buffer => {
    if (path === '/') return PAGE;
    if (path === '/blank.html') return '<!doctype html><title>blank</title>';
    if (path === '/sqlite3.wasm')
      return readFileSync(join(REPOSITORY, 'worker/engine/vfs/sqlite3.wasm'));
    return readFileSync(join(folder, path));
  };
  const site = await serveStatic(read);
  return {
    origin: site.origin,
    async close() {
      await site.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
