// The pages of e2e/specs/pages as one script each, built as an app would be.
//
// Their sources one by one would do as well, but a page and its worker are some 400 modules, which take
// seconds to load in every test that starts a browser.

import { join } from 'node:path';
import { build, type InlineConfig } from 'vite';

/** The built files: pages, and modules that pages import, by their paths in the repository. */
const PAGES = [
  '/e2e/specs/pages/blank.html',
  '/e2e/specs/pages/react.html',
  '/e2e/specs/pages/inspector.html',
];
const MODULES = ['/packages/management/e2e/page.ts'];

/** The folder of scripts, at the root of the server. */
const SCRIPTS = 'built-pages';

/** The built file that is served at a path, from the folder of built files; null when the path is not of one. */
export function builtFile(url: string): string | null {
  if (PAGES.includes(url) || url.startsWith(`/${SCRIPTS}/`)) return url;
  return MODULES.includes(url) ? scriptOf(url) : null;
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
