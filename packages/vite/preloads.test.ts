// The links that a build adds to the head of a page.

import { build } from 'vite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { TestProject } from './testing/test-project.ts';

let project: TestProject;
beforeEach(() => {
  project = new TestProject();
});
afterEach(() => project.remove());

test('[VITE18] a built page that starts the worker has links to the worker and the WebAssembly', {
  tags: 'long',
}, async () => {
  project.write('other.html', '<script type="module">console.log(1)</script>');
  const input = ['index.html', 'other.html'].map((name) => project.path(name));
  const linksOf = (page: string) => {
    const html = project.read(`built/${page}`);
    return [...html.matchAll(/<link rel="(\w+)" crossorigin href="([^"]+)"/g)].map(
      ([, rel, href]) => `${rel} ${href!.replace(/-[\w-]{8}\./, '.')}`,
    );
  };
  for (const [base, options, links] of [
    [
      '/app/',
      {},
      ['modulepreload /app/assets/objects.worker.js', 'preload /app/assets/sqlite3.wasm'],
    ],
    ['./', {}, ['modulepreload ./assets/objects.worker.js', 'preload ./assets/sqlite3.wasm']],
    ['/', { preload: false }, []],
  ] as const) {
    await build({
      ...project.config(options),
      base,
      build: { outDir: 'built', modulePreload: { polyfill: false }, rollupOptions: { input } },
    });
    expect(linksOf('index.html').sort()).toEqual(links);
    expect(linksOf('other.html')).toEqual([]);
  }
});
