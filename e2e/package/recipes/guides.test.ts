// The code of guides, compiled as a reader would copy it, on objects of this process.

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

/** Runs the block that has the text; `openStorage` opens an object of this process. Returns its exports. */
async function exportsOf<T>(document: string, text: string): Promise<[T, StorageHandle]> {
  const storage = await objects.storage(objects.env.Box.getByName(document));
  Object.assign(globalThis, { openStorage: async () => storage });
  const { outputFiles } = await build({
    stdin: {
      contents: recipeOf(document, text).replace(
        /import \{ openStorage.*\} from 'ctx-storage';/,
        'const { openStorage } = globalThis;',
      ),
      loader: 'ts',
      resolveDir: REPOSITORY,
    },
    alias: { 'ctx-storage/migrate': join(REPOSITORY, 'packages/adapters/migrate/migrate.ts') },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
  });
  const code = Buffer.from(outputFiles[0]!.contents).toString('base64');
  try {
    return [(await import(`data:text/javascript;base64,${code}`)) as T, storage];
  } finally {
    Reflect.deleteProperty(globalThis, 'openStorage');
  }
}

test('[DOC3] the guide to full-text search finds words, unfinished ones and signs', async () => {
  const [{ termsOf }, storage] = await exportsOf<{ termsOf(text: string): string }>(
    'full-text-search.md',
    'termsOf',
  );
  const found = async (text: string) =>
    storage.sql
      .exec('SELECT title FROM page WHERE page MATCH ? ORDER BY bm25(page, 4, 1)', termsOf(text))
      .raw()
      .toArray();
  expect(await found('cafe')).toEqual([['Coffee'], ['Tea']]);
  expect(await found('kyo')).toEqual([['Tea']]);
  expect(await found('green vien')).toEqual([]);
  expect(await found('tea')).toEqual([['Tea']]);
  for (const text of ['"', '-tea', 'a OR', 'NEAR(', '*', 'x:y']) await found(text);
  const reads = recipeOf('full-text-search.md', 'termsOf').match(/"(SELECT rowid[^"]*)"/)![1]!;
  expect(await storage.sql.exec(reads, termsOf('vienna')).toArray()).toEqual([
    { id: 2, title: 'Coffee', found: 'A café in [Vienna]' },
  ]);
});

test('[DOC3] the guide to large files keeps a file whole, and replaces it', async () => {
  const [{ save, load }] = await exportsOf<{
    save(name: string, file: Blob): Promise<void>;
    load(name: string): Promise<Blob | null>;
  }>('large-files.md', 'partsOf');
  const bytes = (count: number, step: number) =>
    Uint8Array.from({ length: count }, (_, i) => (i * step) & 255);
  for (const [count, step] of [
    [700_001, 7],
    [262_144, 3],
    [0, 1],
  ] as const) {
    await save('picture', new Blob([bytes(count, step)], { type: 'image/png' }));
    const file = await load('picture');
    expect([file!.type, file!.size]).toEqual(['image/png', count]);
    expect(new Uint8Array(await file!.arrayBuffer())).toEqual(bytes(count, step));
  }
  expect(await load('missing')).toBeNull();
});

test('[DOC3] the guide for IndexedDB moves the values that there are, once', async () => {
  const old = [
    { id: 1, body: 'one' },
    { id: 7, body: 'seven' },
  ];
  let isThere = true;
  Object.assign(globalThis, { indexedDB: { open: () => fakeOpening(() => isThere, old) } });
  try {
    const [{ openNotes }] = await exportsOf<{ openNotes(): Promise<StorageHandle> }>(
      'from-indexeddb.md',
      'function openNotes',
    );
    for (isThere of [true, true, false]) {
      const storage = await openNotes();
      expect(await storage.sql.exec('SELECT * FROM note').toArray()).toEqual(old);
    }
  } finally {
    Reflect.deleteProperty(globalThis, 'indexedDB');
  }
});

/** The part of IndexedDB that the guide uses. */
function fakeOpening(isThere: () => boolean, values: readonly unknown[]): object {
  const request = (task: (request: Record<string, () => void>) => void) => {
    const made: Record<string, never> = {};
    queueMicrotask(() => task(made));
    return made;
  };
  const getAll = () =>
    request((all) => {
      Object.assign(all, { result: values });
      all.onsuccess!();
    });
  return request((opening) => {
    if (isThere()) {
      const transaction = () => ({ objectStore: () => ({ getAll }) });
      Object.assign(opening, { result: { transaction, close() {} } });
      opening.onsuccess!();
      return;
    }
    Object.assign(opening, {
      transaction: { abort() {} },
      error: new DOMException('', 'AbortError'),
    });
    opening.onupgradeneeded!();
    opening.onerror!();
  });
}
