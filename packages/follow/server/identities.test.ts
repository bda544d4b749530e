// Tests the marks of identities, and those that are ended.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createTestHost, type TestHost } from '../../testing/worker/test-host.ts';
import { Identities } from './identities.ts';

let identities: Identities;
let random: number;

class Marking extends DurableObject {
  constructor(ctx: never, env: never) {
    super(ctx, env);
    const storage = this.ctx.storage as unknown as DurableObjectStorage;
    identities = new Identities(storage, () => random++);
  }
}

let host: TestHost;
beforeEach(async () => {
  random = 1;
  host = await createTestHost({}, { Marking });
});
afterEach(() => host.close());

const inObject = <T>(run: (storage: DurableObjectStorage) => T | Promise<T>, name = 'object') =>
  host.run(({ storage }) => run(storage as unknown as DurableObjectStorage), name);

test('[FOLS13] a mark has nothing of its identity, and is another one in each object', async () => {
  const mark = await inObject(() => identities.markOf('ann@example.org'));
  expect(mark).toMatch(/^_follow_mark:[\da-f]{64}$/);
  expect(await inObject(() => identities.markOf('ann@example.org'))).toBe(mark);
  expect(await inObject(() => identities.markOf('ann@example.com'))).not.toBe(mark);
  expect(await inObject(() => identities.markOf('ann@example.org'), 'other')).not.toBe(mark);
});

test('[FOLS13] salt and ended identities survive deleteAll, and the next instance', async () => {
  const mark = await inObject(async (storage) => {
    identities.end('ann');
    await storage.deleteAll();
    expect([identities.isEnded('ann'), identities.isEnded('bob')]).toEqual([true, false]);
    return identities.markOf('ann');
  });
  await host.host.evict(host.address());
  await inObject(async (storage) => {
    expect([identities.markOf('ann'), identities.isEnded('ann')]).toEqual([mark, true]);
    expect([...storage.sql.exec('SELECT * FROM _follow_ended').raw()]).toEqual([[mark]]);
    identities.allow('ann');
    expect(identities.isEnded('ann')).toBe(false);
  });
});

test('[FOLS4] what an earlier version has stored is an identity, and an identity that looks like a mark is none', async () => {
  await inObject(() => {
    const mark = identities.markOf('ann');
    expect([identities.markOfStored('ann'), identities.markOfStored(mark)]).toEqual([mark, mark]);
    expect(identities.markOf(mark)).not.toBe(mark);
  });
});

test.each([['text'], [7]])(
  '[FOLS13] a stored salt of %o is replaced, and ends no instance',
  async (salt) => {
    await inObject((storage) => {
      storage.sql.exec('UPDATE _follow_salt SET salt = ?', salt);
    });
    await host.host.evict(host.address());
    const mark = await inObject(() => identities.markOf('ann'));
    await host.host.evict(host.address());
    expect(await inObject(() => identities.markOf('ann'))).toBe(mark);
  },
);
