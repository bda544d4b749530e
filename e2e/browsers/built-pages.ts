// The pages of e2e/pages as one script each, built as an app would be.
//
// Their sources one by one would do as well, but a page and its worker are some 400 modules, which take
// seconds to load in every test that starts a browser.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type InlineConfig } from 'vite';

export interface BuiltPages {
  /** Holds the built files by the paths they are served at. */
  readonly directory: string;
  remove(): void;
}

/** The folder of scripts, at the root of the server. */
export const SCRIPTS = 'built-pages';

/** Builds the blank page with the plugins and aliases of a server. */
export async function buildPages(
  root: string,
  { plugins, resolve }: Pick<InlineConfig, 'plugins' | 'resolve'>,
): Promise<BuiltPages> {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-pages-'));
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: plugins!,
    resolve: resolve!,
    worker: { format: 'es' },
    build: {
      outDir: directory,
      emptyOutDir: true,
      assetsDir: SCRIPTS,
      target: 'es2023',
      // Tests read stacks and names.
      minify: false,
      rollupOptions: { input: join(root, 'e2e/pages/blank.html') },
    },
  });
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}
