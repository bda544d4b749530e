// A plugin for Vite: the service worker with the list of all files of the build, so that the app opens without
// a network.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

export function offline(): Plugin {
  let root = '';
  return {
    name: 'offline',
    apply: 'build',
    configResolved(config) {
      root = config.root;
    },
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const files = Object.keys(bundle).filter((name) => !/\.(map|html)$/.test(name));
        const names = JSON.stringify(['./', ...files]);
        const code = readFileSync(join(root, 'service-worker.js'), 'utf8');
        const page = bundle['index.html'];
        if (page?.type !== 'asset') throw new Error('The build has no index.html.');
        // Names of files contain their digests, so they and the page differ when anything does.
        const hash = createHash('sha256').update(names).update(page.source).update(code);
        const version = hash.digest('hex').slice(0, 8);
        this.emitFile({
          type: 'asset',
          fileName: 'service-worker.js',
          source: `const FILES = ${names};\nconst CACHE = 'todo-${version}';\n${code}`,
        });
      },
    },
  };
}
