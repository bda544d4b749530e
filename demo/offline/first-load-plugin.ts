// For Vite: links in the built notes app to what its script loads next, so that all of it loads at the same time: the
// client, the worker of `openStorage`, and SQLite's WebAssembly.

import type { Plugin } from 'vite';

const PAGE = '/notes.html';

const LINKED = [
  { file: /(^|\/)page-client-[^/]*\.js$/, attrs: { rel: 'modulepreload' } },
  { file: /(^|\/)storage-worker-[^/]*\.js$/, attrs: { rel: 'modulepreload' } },
  {
    file: /(^|\/)sqlite3-[^/]*\.wasm$/,
    attrs: { rel: 'preload', as: 'fetch', type: 'application/wasm' },
  },
];

export function firstLoad(): Plugin {
  return {
    name: 'demo-first-load',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle, path }) {
        if (bundle === undefined || path !== PAGE) return [];
        const names = Object.keys(bundle);
        return LINKED.map(({ file, attrs }) => {
          const name = names.find((one) => file.test(one));
          if (name === undefined) throw new Error(`The build has no file ${file} to link.`);
          return {
            tag: 'link',
            attrs: { ...attrs, crossorigin: true, href: `./${name}` },
            injectTo: 'head',
          };
        });
      },
    },
  };
}
