// The examples of docs/query-builders.md, compiled as a reader would copy them, on objects of this process.

import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { REPOSITORY } from '../../browsers/server.ts';
import { recipeOf } from './recipes.ts';

class Box extends DurableObject {}

let objects: Awaited<ReturnType<typeof createObjects<{ Box: typeof Box }>>>;
beforeAll(async () => {
  objects = await createObjects({ Box });
});
afterAll(() => objects.close());

/**
 * Runs the block that has the text; `openStorage` opens an object of this process, which the result is, and
 * `import.meta.glob` gives the files.
 */
async function run(
  text: string,
  entry: string,
  module: string,
  files: Readonly<Record<string, string>> = {},
): Promise<StorageHandle> {
  const storage = await objects.storage(objects.env.Box.getByName(entry));
  Object.assign(globalThis, { openStorage: async () => storage, filesOfExample: () => files });
  const { outputFiles } = await build({
    stdin: {
      contents: recipeOf('query-builders.md', text).replace(
        "import { openStorage } from 'ctx-storage';",
        '',
      ),
      loader: 'ts',
      resolveDir: REPOSITORY,
    },
    define: { 'import.meta.glob': 'filesOfExample' },
    alias: { [`ctx-storage/${entry}`]: join(REPOSITORY, module) },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const code = Buffer.from(outputFiles[0]!.contents).toString('base64');
  try {
    await import(`data:text/javascript;base64,${code}`);
  } finally {
    Reflect.deleteProperty(globalThis, 'openStorage');
    Reflect.deleteProperty(globalThis, 'filesOfExample');
  }
  return storage;
}

test('[KYSELY2] the example for Kysely stores what it says', async () => {
  const storage = await run(
    "from 'ctx-storage/kysely'",
    'kysely',
    'packages/adapters/kysely/dialect.ts',
  );
  expect(await storage.sql.exec('SELECT * FROM person, total').toArray()).toEqual([
    { name: 'Ada', people: 1 },
  ]);
});

test('[DRIZZLE2] [DRIZZLE3] the example for Drizzle stores what it says', async () => {
  const storage = await run(
    "from 'ctx-storage/drizzle'",
    'drizzle',
    'packages/adapters/drizzle/index.ts',
    {
      './drizzle/meta/_journal.json': '{"entries":[{"tag":"0000_first"}]}',
      './drizzle/0000_first.sql':
        'CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE shelf(count INTEGER)',
    },
  );
  expect(await storage.sql.exec('SELECT title FROM book').raw().toArray()).toEqual([
    ['One'],
    ['One and a half'],
  ]);
  expect(await storage.sql.exec('SELECT * FROM shelf').toArray()).toEqual([]);
});
