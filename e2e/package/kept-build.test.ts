// The service worker of the todo example, run with a stand-in for its scope.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../browsers/server.ts';

test('[APP8] the todo example asks the server for every file of the build that it keeps', async () => {
  const code = readFileSync(join(REPOSITORY, 'docs/examples/todo/service-worker.js'), 'utf8');
  const files = ['https://app.test/', 'https://app.test/assets/main-1.js'];
  const kept: Request[] = [];
  const listeners = new Map<string, (event: unknown) => void>();
  runInNewContext(`const FILES = ${JSON.stringify(files)}; const CACHE = 'todo-1'; ${code}`, {
    self: { addEventListener: listeners.set.bind(listeners) },
    caches: {
      open: async () => ({
        addAll: async (given: (Request | string)[]) => {
          for (const each of given) kept.push(new Request(each));
        },
      }),
    },
    Request,
  });
  let installed: unknown;
  listeners.get('install')!({ waitUntil: (work: unknown) => (installed = work) });
  await installed;
  expect(kept.map(({ url, cache }) => [url, cache])).toEqual(
    files.map((file) => [file, 'no-cache']),
  );
});
