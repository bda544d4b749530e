// Tests that a revert or merge opens its critical section inside that of its caller, whatever runs while it compares.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { liveReadPolicy } from '../../engine/storage/access-policy.ts';
import { ReadSet } from '../../engine/storage/accesses.ts';

/** A promise that the test resolves. */
function signal() {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

let host: TestHost;
beforeEach(async () => {
  host = await createTestHost();
});
afterEach(() => host.close());

test.each(['revert', 'merge'] as const)(
  '[GATE5] a %s whose comparison ends while a live method runs waits for the end of the method',
  async (operation) => {
    const instance = await host.host.instance(host.address());
    const { storage } = instance;
    const write = (value: string) =>
      instance.deliver((state) => {
        state.storage.kv.put('key', value);
        return storage.currentBookmark();
      });
    const before = await write('old');
    const after = await write('new');

    const compared = signal();
    const name = operation === 'revert' ? 'compareBack' : 'compare';
    const compare = storage.past[name].bind(storage.past) as (...args: unknown[]) => Promise<never>;
    const isComparing = new Promise<void>((resolve) => {
      vi.spyOn(storage.past, name).mockImplementation(async (...args: unknown[]) => {
        const comparison = await compare(...args);
        resolve();
        await compared.promise;
        return comparison;
      });
    });
    const changed = instance.deliver(() =>
      operation === 'revert' ? storage.revert([after]) : storage.merge(after, before, null),
    );
    await isComparing;

    const method = signal();
    const begun = signal();
    const read = async (state: typeof instance.state) => {
      begun.resolve();
      const first = state.storage.kv.get('key');
      await method.promise;
      return [first, state.storage.kv.get('key')];
    };
    const reads = instance.deliver((state) =>
      instance.context.runSection(() => read(state), liveReadPolicy(new ReadSet())),
    );
    await begun.promise;
    compared.resolve();
    await host.turns(50);
    method.resolve();
    expect(await reads).toEqual(['new', 'new']);
    expect((await changed).conflictCount).toBe(0);
    expect(await instance.deliver((state) => state.storage.kv.get('key'))).toBe('old');
  },
);
