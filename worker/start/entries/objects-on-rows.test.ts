// Tests objects on a medium of rows, as IndexedDB is: their files lie in memory and are stored later.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CrashRows } from '../../../packages/testing/engine/crash-rows.ts';
import { Random } from '../../../packages/testing/simulate/world/random.ts';
import { FILE_MEMORY_BYTES, MemoryBudget } from '../../engine/file/memory-budget.ts';
import { RowFiles } from '../../engine/file/row-files.ts';
import { DurableObject } from '../../realm/library/library.ts';
import { createObjects, type ObjectMedium } from './in-process.ts';

const wasm = new Uint8Array(
  readFileSync(new URL('../../engine/vfs/sqlite3.wasm', import.meta.url)),
);

class Store extends DurableObject {
  async put(key: string, value: Uint8Array): Promise<void> {
    await this.ctx.storage.put(key, value);
  }
  async commitAndAbort(): Promise<void> {
    await this.ctx.storage.transaction(async (txn) => txn.put('committed', 1));
    this.ctx.abort('after the transaction');
  }
  keys(): string[] {
    return [...this.ctx.storage.kv.list()].map(([key]) => key);
  }
}

test('[MEDIUM4] an abort does not undo a transaction that has resolved', async () => {
  const medium = mediumOf(new RowFiles(new CrashRows(new Random(3))));
  const objects = await createObjects({ Store }, { wasm, medium });
  const store = () => objects.env.Store.getByName('aborted');
  await expect(store().commitAndAbort()).rejects.toThrow('after the transaction');
  expect(await store().keys()).toEqual(['committed']);
  await objects.close();
});

function mediumOf(files: RowFiles): ObjectMedium {
  return {
    directory: async (key) => files.directory(key),
    remove: (key) => files.removeAll(key),
    keys: () => files.keys(),
    sizes: (key) => files.sizes(key),
  };
}

test('[MEDIUM5] an object that outgrows memory is MEMORY_FULL, which names the bound; it and the others go on, and the next host finds every acknowledged write', async () => {
  const rows = new CrashRows(new Random(1));
  const medium = mediumOf(new RowFiles(rows, new MemoryBudget(3_000_000)));
  const objects = await createObjects({ Store }, { wasm, medium });
  const large = objects.env.Store.getByName('large');
  const small = objects.env.Store.getByName('small');
  await small.put('a', new Uint8Array(10).fill(1));
  const acknowledged: string[] = [];
  const fill = async () => {
    for (let i = 0; i < 100; i++) {
      await large.put(
        `k${String(i).padStart(3, '0')}`,
        crypto.getRandomValues(new Uint8Array(65_000)),
      );
      acknowledged.push(`k${String(i).padStart(3, '0')}`);
    }
  };
  await expect(fill()).rejects.toMatchObject({
    code: 'MEMORY_FULL',
    message: expect.stringContaining('3000000'),
  });
  expect(acknowledged.length).toBeGreaterThan(5);
  // The object was reset, so a call that reaches the ended instance rejects with the reason.
  const keys = () =>
    objects.env.Store.getByName('large')
      .keys()
      .catch((error) => error.code);
  await expect.poll(keys).toEqual(acknowledged);
  await small.put('b', new Uint8Array(10).fill(2));
  await objects.close();

  const later = await createObjects(
    { Store },
    { wasm, medium: mediumOf(new RowFiles(rows, new MemoryBudget(FILE_MEMORY_BYTES))) },
  );
  expect(await later.env.Store.getByName('large').keys()).toEqual(acknowledged);
  expect(await later.env.Store.getByName('small').keys()).toEqual(['a', 'b']);
  await later.close();
});
