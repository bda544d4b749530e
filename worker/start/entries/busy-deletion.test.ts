import { expect, test } from 'vitest';
import { DurableObject } from '../../realm/library/base-classes.ts';
import { createObjects } from './node-objects.ts';

class Box extends DurableObject {}

test('[MANY5] a deletion ends though calls wait for the object; they find it empty', async () => {
  const objects = await createObjects({ Box });
  const box = objects.env.Box.getByName('one');
  const storage = await objects.storage(box);
  await storage.put('a', 1);
  const deleted = objects.deleteObject(box);
  const found = await Promise.allSettled([storage.list(), storage.history(), storage.list()]);
  await deleted;
  expect(found).toEqual([
    { status: 'fulfilled', value: new Map() },
    { status: 'fulfilled', value: [] },
    { status: 'fulfilled', value: new Map() },
  ]);
  expect([...(await storage.list())]).toEqual([]);
  await objects.close();
});
