// The pages of e2e/specs/pages and the workers that tests start, as one script each, built as an app would be.
//
// Their sources one by one would do as well, but a page and its worker are some 400 modules, which take
// seconds to load in every test, because each has an origin of its own.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { build, type InlineConfig } from 'vite';

const SOURCES = '/e2e/specs/pages';

/** The built files: pages, and modules that pages import or start as workers, by their paths in the repository. */
const PAGES = [`${SOURCES}/blank.html`, `${SOURCES}/react.html`, `${SOURCES}/inspector.html`];
const MODULES = [
  '/e2e/workerd/differential/conversation.ts',
  '/e2e/workerd/differential/entries.ts',
  '/e2e/workerd/differential/worker.ts',
  '/e2e/workerd/libraries/worker.ts',
  '/packages/entries/source-worker.ts',
  '/packages/management/e2e/page.ts',
  ...readdirSync(join(import.meta.dirname, '../..', SOURCES))
    .filter((name) => name.endsWith('-worker.ts'))
    .map((name) => `${SOURCES}/${name}`),
];

/** The folder of scripts, at the root of the server. */
const SCRIPTS = 'built-pages';

/**
 * The built file that is served at an address, from the folder of built files, with the address's query; null when the
 * address is not of one.
 */
export function builtFile(url: string): string | null {
  const [path, query] = url.split(/(?=\?)/) as [string, string?];
  if (PAGES.includes(path) || path.startsWith(`/${SCRIPTS}/`)) return url;
  return MODULES.includes(path) ? scriptOf(path) + (query ?? '') : null;
}

const scriptOf = (module: string) => `/${SCRIPTS}/${module.replaceAll('/', '-').slice(1)}.js`;

/** Builds them into the folder, by the paths they are served at, with the plugins and aliases of a server. */
export async function buildPages(
  root: string,
  folder: string,
  { plugins, resolve }: Pick<InlineConfig, 'plugins' | 'resolve'>,
): Promise<void> {
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    plugins: plugins!,
    resolve: resolve!,
    worker: { format: 'es' },
    build: {
      outDir: folder,
      emptyOutDir: true,
      assetsDir: SCRIPTS,
      target: 'es2023',
      // Tests read stacks and names.
      minify: false,
      // Workers have no document that could have links.
      modulePreload: false,
      rollupOptions: {
        input: [...PAGES, ...MODULES].map((path) => join(root, path)),
        preserveEntrySignatures: 'exports-only',
        output: {
          entryFileNames({ facadeModuleId }) {
            const module = MODULES.find((path) => facadeModuleId === join(root, path));
            return module === undefined ? `${SCRIPTS}/[name]-[hash].js` : scriptOf(module).slice(1);
          },
        },
      },
    },
  });
}
