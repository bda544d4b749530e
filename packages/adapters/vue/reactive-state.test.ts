// Values of this package in a `ref`. Vue makes its content deeply reactive, and a proxy would break their private
// members.

import '../testing/dom.ts';

import { afterAll, beforeAll, expect, test } from 'vitest';
import { effectScope, type Ref, ref } from 'vue';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import { useLive } from './index.ts';

class Counter extends DurableObject {
  async add(by: number) {
    const count = ((await this.ctx.storage.get<number>('count')) ?? 0) + by;
    await this.ctx.storage.put('count', count);
    return count;
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ Counter: typeof Counter }>>>;
beforeAll(async () => {
  objects = await createObjects({ Counter });
});
afterAll(() => objects.close());

/** Makes a `ref` with the type of a shallow one, because Vue's own type unwraps the members of the value. */
const refOf = <Value>(value: Value) => ref(value) as Ref<Value>;

/** Returns the value as a component reads it from a `ref`. */
const fromRef = <Value>(value: Value): Value => refOf(value).value;

const handleOf = (name: string) => objects.storage(objects.env.Counter.getByName(name));

test('[VUE5] the result of connect, and a stub, can be called from a ref', async () => {
  const { env, storage } = fromRef(objects);
  const stub = fromRef(env.Counter.getByName('called'));
  expect(await stub.add(1)).toBe(1);
  expect(await (await storage(stub)).get('count')).toBe(1);
});

test('[VUE5] a handle, and an earlier moment of it, can be read from a ref', async () => {
  const storage = fromRef(await handleOf('read'));
  await storage.put('count', 1);
  expect(await storage.sql.exec('SELECT 1 AS one').one()).toEqual({ one: 1 });
  const moment = fromRef(await storage.at(await storage.getCurrentBookmark()));
  expect(await moment.get('count')).toBe(1);
});

test('[VUE5] useLive follows a live value that is in a ref, of a handle in a ref', async () => {
  const storage = refOf(await handleOf('followed'));
  const live = refOf(storage.value.live<number>({ key: 'count' }));
  await storage.value.put('count', 1);
  const scope = effectScope();
  const state = scope.run(() => useLive(live))!;
  await expect.poll(() => state.value).toBe(1);
  await storage.value.put('count', 2);
  await expect.poll(() => state.value).toBe(2);
  scope.stop();
});
