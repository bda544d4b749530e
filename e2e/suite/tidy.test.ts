// The code checked as code: layers, file heads, sizes, and that the rule book and the tests agree.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * What each folder may import, its own files aside. `src/contract` and `src/serializer` are shared
 * by both worlds and stand below everything.
 */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'src/contract': ['src/serializer'],
  'src/serializer': ['src/contract'],
  'src/rpc': ['src/contract'],
  'src/io': [],
  'src/sockets': ['src/io', 'src/serializer'],
  'src/http': ['src/io'],
  'src/stubs': ['src/io', 'src/rpc', 'src/contract', 'src/serializer'],
  'src/membrane': [
    'src/stubs',
    'src/http',
    'src/sockets',
    'src/io',
    'src/rpc',
    'src/contract',
    'src/serializer',
  ],
  'src/client': ['src/membrane', 'src/stubs', 'src/rpc', 'src/contract', 'src/serializer'],
  'src/vite': [],
  src: ['src/client', 'src/contract'],
  'worker/file': ['src/contract'],
  'worker/log': ['worker/file', 'src/contract'],
  'worker/vfs': ['worker/file', 'src/contract'],
  'worker/sql': ['worker/vfs', 'src/contract'],
  'worker/kv': ['worker/sql', 'src/contract', 'src/serializer'],
  'worker/import': ['worker/sql', 'worker/vfs', 'worker/file', 'src/contract'],
  'worker/storage': [
    'worker/kv',
    'worker/sql',
    'worker/vfs',
    'worker/log',
    'worker/import',
    'src/contract',
    'src/serializer',
  ],
  'worker/io': ['src/contract'],
  'worker/clock': ['src/contract'],
  'worker/alarms': [],
  'worker/catalog': ['worker/file', 'src/contract'],
  'worker/globals': ['src/http', 'src/sockets', 'src/io'],
  'worker/sockets': ['src/sockets', 'src/io'],
  'worker/instance': [
    'worker/sockets',
    'worker/alarms',
    'worker/catalog',
    'worker/io',
    'worker/storage',
    'worker/sql',
    'worker/log',
    'worker/file',
    'src/sockets',
    'src/io',
    'src/contract',
    'src/serializer',
  ],
  'worker/host': [
    'worker/instance',
    'worker/sockets',
    'worker/alarms',
    'worker/clock',
    'worker/catalog',
    'worker/io',
    'worker/import',
    'worker/sql',
    'src/stubs',
    'src/io',
    'src/contract',
  ],
  'worker/calls': [
    'worker/host',
    'worker/instance',
    'src/membrane',
    'src/stubs',
    'src/sockets',
    'src/rpc',
    'src/contract',
  ],
  'worker/sessions': [
    'worker/host',
    'worker/instance',
    'worker/io',
    'worker/storage',
    'worker/sql',
    'src/stubs',
    'src/rpc',
    'src/contract',
  ],
  'worker/library': ['worker/instance', 'src/membrane', 'src/stubs', 'src/io', 'src/contract'],
  'src/management/schedule': ['src/contract'],
  'src/management/call': [],
  'src/management/resources': ['src/management/call', 'src/contract'],
  'src/management/routes': [
    'src/management/resources',
    'src/management/call',
    'src/management/schedule',
  ],
  'src/management/objects': [
    'src/management/routes',
    'src/management/resources',
    'src/management/call',
    'src/contract',
  ],
  'src/management/changes': [
    'src/management/routes',
    'src/management/resources',
    'src/management/call',
    'src/management/schedule',
  ],
  'src/management/edge': [
    'src/management/changes',
    'src/management/objects',
    'src/management/routes',
    'src/management/resources',
    'src/management/call',
    'src/management/schedule',
  ],
  'src/management/adapters': [
    'src/management/edge',
    'src/management/objects',
    'src/management/call',
    'src/management/schedule',
    'src/contract',
  ],
  'src/management/report': ['src/management/schedule', 'src/contract'],
  'src/management': [
    'src/management/adapters',
    'src/management/edge',
    'src/management/objects',
    'src/management/report',
    'src/management/schedule',
  ],
  'src/cli': [
    'src/management/adapters',
    'src/management/objects',
    'src/management/report',
    'src/management/schedule',
    'src/contract',
  ],
};

/** The program of the command line is where page and worker meet. */
const PROGRAM = 'src/cli/node-main.ts';

const files = sourceFiles(['src', 'worker', 'demo', 'e2e']);
const sources = files.filter((file) => !file.endsWith('.test.ts') && !file.startsWith('e2e'));

describe('source', () => {
  test('imports go only downward', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      const folder = dirname(file);
      const allowed = LAYERS[folder];
      if (allowed === undefined || file === PROGRAM) continue;
      for (const target of imports(file)) {
        const inside = [folder, ...allowed].some(
          (layer) => target === layer || dirname(target) === layer,
        );
        if (!inside) wrong.push(`${file} -> ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('the page imports nothing of the worker, the worker nothing of the page', () => {
    const wrong: string[] = [];
    for (const file of sources) {
      for (const target of imports(file)) {
        if (file === PROGRAM) continue;
        if (file.startsWith('src/') && target.startsWith('worker/'))
          wrong.push(`${file} -> ${target}`);
        if (file.startsWith('worker/') && target.startsWith('src/client')) {
          wrong.push(`${file} -> ${target}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('every file begins by saying what it is', () => {
    const headless = sources.filter((file) => !/^(#!.*\n)?(\/\/|\/\*)/.test(read(file)));
    expect(headless).toEqual([]);
  });

  test('no file is longer than 450 lines', () => {
    const long = sources.filter((file) => read(file).split('\n').length > 450);
    expect(long).toEqual([]);
  });

  test('no module is left that nothing imports', () => {
    const entries = new Set([
      'src/index.ts',
      'src/management/index.ts',
      PROGRAM,
      'worker/entries/storage-worker.ts',
      'worker/entries/objects.ts',
      'src/vite/client.d.ts',
      'demo/objects/room.ts',
      'worker/entries/node-objects.ts',
      'worker/entries/node-library.ts',
      'worker/vfs/build/write-wasm.ts',
      'worker/sim/main.ts',
      'demo/main.tsx',
    ]);
    const imported = new Set(files.flatMap((file) => [...imports(file), ...addresses(file)]));
    const html = read('demo/index.html');
    const dead = sources.filter(
      (file) => !entries.has(file) && !imported.has(file) && !html.includes(file.slice(5)),
    );
    expect(dead).toEqual([]);
  });
});

describe('rule book', () => {
  const books = ['docs/spec.md', 'docs/commit-log-format.md'].map(read).join('\n');
  const rules = new Set([...books.matchAll(/^\| ([A-Z]+\d+) \|/gm)].map(([, id]) => id!));
  const tests = files.filter((file) => /\.(test|spec|suite)\.ts$/.test(file));
  const shown = new Set(
    tests.flatMap((file) => [...read(file).matchAll(/\[([A-Z]+\d+)\]/g)].map(([, id]) => id!)),
  );

  test('every rule has a test', () => {
    expect([...rules].filter((id) => !shown.has(id))).toEqual([]);
  });

  test('every test names a rule that exists', () => {
    expect([...shown].filter((id) => !rules.has(id))).toEqual([]);
  });
});

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function sourceFiles(folders: string[]): string[] {
  return folders
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((file) => !file.endsWith('.d.ts') && !file.includes('node_modules'));
}

/** The files of this repository that a file imports. */
function imports(file: string): string[] {
  return referred(file, /(?:from|import\(?)\s*'(\.[^']*)'/g);
}

/** The files it names as an address, to start them in another thread. */
function addresses(file: string): string[] {
  return referred(file, /new URL\(\s*'(\.[^']*)'/g);
}

function referred(file: string, pattern: RegExp): string[] {
  return [...read(file).matchAll(pattern)].map(([, path]) =>
    relative(ROOT, resolve(ROOT, dirname(file), path!)),
  );
}
