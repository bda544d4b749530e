// Results of live reads on their way to where they are kept: what they show is durable, and its schema is known.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import { deserialize } from '../../../src/shared/values/decode.ts';
import type { LiveConnection } from '../../../src/shared/wire/protocol.ts';
import { KeptResults } from '../live/kept-results.ts';
import { LiveCalls } from './live-calls.ts';

type Kept = Parameters<KeptResults['keep']>;

let host: TestHost;
let connection: LiveConnection;
let kept: KeptResults;
let given: Kept[];
let drops: number;

beforeEach(async () => {
  given = [];
  drops = 0;
  const after = () => {};
  kept = new KeptResults({
    directory: 'app',
    open: async () => null,
    now: () => 0,
    after,
    failed: () => {},
  });
  vi.spyOn(kept, 'keep').mockImplementation((...args) => void given.push(args));
  const drop = kept.drop.bind(kept);
  vi.spyOn(kept, 'drop').mockImplementation((address) => {
    drops += 1;
    return drop(address);
  });
  host = await createTestHost({}, {}, undefined, undefined, undefined, { makeKept: () => kept });
  connection = new LiveCalls(host.host).connect();
});
afterEach(() => host.close());

const keep = { read: 'x', isPrivate: false };
const query = (text: string) =>
  connection.openLive({ target: 'object', read: { op: 'query', query: text, bindings: [] }, keep });
const rowsOf = ([, , , result]: Kept) =>
  result && (deserialize(result.bytes) as { rows: unknown[][] }).rows;

test('[LIVE20] a result is kept when all it shows is durable, and not before', async () => {
  await host.run(({ storage }) => void storage.sql.exec('CREATE TABLE t(v)'));
  await query('SELECT v FROM t');
  await host.turns(10);
  expect(given.map(rowsOf)).toEqual([[]]);
  host.holdFlushes();
  const written = host.run(({ storage }) => void storage.sql.exec('INSERT INTO t VALUES (1)'));
  await host.turns(10);
  expect(host.committed()).toBeGreaterThan(host.durable());
  expect(given).toHaveLength(1);
  host.releaseFlushes();
  await written;
  await host.turns(10);
  expect(given.map(rowsOf)).toEqual([[], [[1]]]);
});

test('[LIVE25] a result of another schema says so, and a read that fails has none', async () => {
  await host.run(({ storage }) => void storage.sql.exec('CREATE TABLE t(v)'));
  await query('SELECT v FROM t');
  await host.turns(10);
  await host.run(({ storage }) => void storage.sql.exec('INSERT INTO t VALUES (1)'));
  await host.turns(10);
  await host.run(({ storage }) => void storage.sql.exec('CREATE TABLE u(v); DELETE FROM t'));
  await host.turns(10);
  const [first, second, third] = given.map(([, , , result]) => result!.schema);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
  await host.run(({ storage }) => void storage.sql.exec('DROP TABLE t'));
  await host.turns(10);
  expect(given.at(-1)![3]).toBeUndefined();
});

test.for(['deleteAll', 'restore', 'deleteObject'] as const)(
  '[LIVE20] %s is answered after what was kept is deleted, and begins a new era',
  async (change) => {
    await host.run(({ storage }) => void storage.sql.exec('CREATE TABLE t(v)'));
    const before = kept.era(host.address());
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    vi.mocked(kept.drop).mockImplementationOnce((address) => {
      drops += 1;
      const { era } = kept;
      expect(era.call(kept, address)).toBe(before);
      return held.then(() => KeptResults.prototype.drop.call(kept, address));
    });
    let isAnswered = false;
    const answered = perform(change).then(() => {
      isAnswered = true;
    });
    await host.turns(20);
    expect([drops, isAnswered]).toEqual([1, false]);
    release();
    await answered;
    expect(kept.era(host.address())).not.toBe(before);
  },
);

function perform(change: 'deleteAll' | 'restore' | 'deleteObject'): Promise<unknown> {
  if (change === 'deleteObject') return host.host.erase(host.address());
  if (change === 'deleteAll') return host.run(({ storage }) => storage.deleteAll());
  return host.run(async ({ storage }) => {
    const bookmark = await storage.getCurrentBookmark();
    return storage.onNextSessionRestoreBookmark(bookmark);
  });
}
