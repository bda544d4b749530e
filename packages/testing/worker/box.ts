// For tests: an object of a class without methods: a new one for each test of a file, through a handle in this process.

import { afterEach, beforeEach } from 'vitest';
import type { StorageHandle } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';

class Box extends DurableObject {}

/** The storage of the test under way. */
export function boxOfEachTest(): { readonly storage: StorageHandle } {
  const box = {} as { storage: StorageHandle };
  let close = async () => {};
  beforeEach(async () => {
    const objects = await createObjects({ Box });
    close = () => objects.close();
    box.storage = await objects.storage(objects.env.Box.getByName('one'));
  });
  afterEach(() => close());
  return box;
}

/** Runs the statements one after the other. */
export async function runSql(handle: StorageHandle, ...statements: string[]): Promise<void> {
  for (const sql of statements) await handle.sql.exec(sql).ready;
}
