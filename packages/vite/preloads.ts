// Adds links to built pages that load the worker and SQLite's WebAssembly together with the page's script.
//
// Invariant: a page has the links only if its script imports the module that starts the worker, and only for files that
// the build has emitted. Browsers reuse the loaded files: a worker finds files of `modulepreload` in the browser's
// cache (Chromium has no `as=worker`), and `fetch` uses a preload with `crossorigin`.

import { posix } from 'node:path';
import type { HtmlTagDescriptor, Plugin, Rollup } from 'vite';

const WASM = /(?:^|\/)sqlite3[^/]*\.wasm$/;

/** `starter` returns the file of the module that starts the worker, or undefined if the project has none. */
export function preloads(starter: () => string | undefined): Plugin {
  let base = '/';
  return {
    name: 'ctx-storage:preloads',
    apply: 'build',
    configResolved: (config) => {
      base = config.base;
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle, chunk, path }) {
        const file = starter();
        if (bundle === undefined || chunk === undefined || file === undefined) return [];
        const starting = importedBy(chunk, bundle).find(({ moduleIds }) =>
          moduleIds.includes(file),
        );
        if (starting === undefined) return [];
        const assets = Object.values(bundle).filter(({ type }) => type === 'asset');
        const names = assets.map(({ fileName }) => fileName);
        // If the base is relative, the script names the worker without its folder, so only the file's name is compared.
        const isStarted = (name: string) =>
          name.endsWith('.js') && starting.code.includes(posix.basename(name));
        const address = addressIn(base, path);
        return [
          ...names.filter(isStarted).map((name) => link('modulepreload', address(name))),
          ...names
            .filter((name) => WASM.test(name))
            .map((name) =>
              link('preload', address(name), { as: 'fetch', type: 'application/wasm' }),
            ),
        ];
      },
    },
  };
}

/** Returns the chunk and all chunks that it imports statically. */
function importedBy(chunk: Rollup.OutputChunk, bundle: Rollup.OutputBundle): Rollup.OutputChunk[] {
  const found = new Set([chunk]);
  // The loop also visits chunks that are added to the set meanwhile.
  for (const { imports } of found) {
    for (const name of imports) {
      const imported = bundle[name];
      if (imported?.type === 'chunk') found.add(imported);
    }
  }
  return [...found];
}

/** Returns a function that makes the address of a file. A base of `./` or '' is relative to the page. */
function addressIn(base: string, page: string): (name: string) => string {
  const depth = page.split('/').length - 2;
  const folder = base === '' || base === './' ? '../'.repeat(depth) || './' : base;
  return (name) => `${folder}${name}`;
}

function link(rel: string, href: string, more: Record<string, string> = {}): HtmlTagDescriptor {
  return { tag: 'link', attrs: { rel, crossorigin: true, href, ...more }, injectTo: 'head' };
}
