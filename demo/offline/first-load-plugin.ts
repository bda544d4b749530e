// Makes a Vite plugin that links the files that the notes app's script loads next, so that the browser loads them at
// the same time: the client, the worker of `openStorage`, and SQLite's WebAssembly.

import { basename } from 'node:path';
import type { Plugin } from 'vite';
import { textOf } from './reachable-files.ts';

const PAGE = '/notes.html';

/** Matches the script of the storage's worker. The benchmark's page has other workers and another build of SQLite. */
const WORKER = /(^|\/)storage-worker-[^/]*\.js$/;

const LINKED_FILES = [
  { file: /(^|\/)page-client-[^/]*\.js$/, attrs: { rel: 'modulepreload' } },
  { file: WORKER, attrs: { rel: 'modulepreload' } },
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
        const worker = textOf(bundle[names.find((one) => WORKER.test(one)) ?? '']);
        return LINKED_FILES.map(({ file, attrs }) => {
          const found = names.filter((one) => file.test(one));
          const name = found.find((one) => worker.includes(basename(one))) ?? found[0];
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
