// Tests that calls, refusals and staged parts of a copy are stored as the next process must read them.

import { serialize } from '@ctx-storage/core/values';
import { afterEach, describe, expect, test } from 'vitest';
import { idOfStorage } from '../../../src/shared/contract/object-id.ts';
import { createTestHost, type TestHost, type World } from '../../testing/worker/test-host.ts';
import type { RefusedCall } from '../protocol/follower.ts';
import { bytesIn, worldOf } from '../testing/followed-device.ts';
import { ReplicaQueue, StagedParts } from './queue.ts';

const hosts: TestHost[] = [];
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.close();
});

async function hostOn(world: World): Promise<TestHost> {
  const made = await createTestHost({}, {}, undefined, world);
  hosts.push(made);
  return made;
}

/** Opens the queue in a new process. */
async function queueOn(world: World, made = { newClient: () => 'page', numberOffset: 0 }) {
  const { host } = await hostOn(world);
  return ReplicaQueue.open(host, 'Room.a', made);
}

/** Ends the process in order. */
async function end(queue: ReplicaQueue): Promise<void> {
  queue.close();
  await hosts.pop()!.close();
}

/** Runs SQL on the files of a queue that is not open. */
async function change(world: World, text: string, ...bindings: unknown[]): Promise<void> {
  const { host } = await hostOn(world);
  const address = { className: null, id: idOfStorage('_follow/Room.a') };
  await host.deliver(address, ({ storage }) => void storage.exec(text, bindings).toArray());
  await hosts.pop()!.close();
}

const callWithoutSize = (n: number, isForecast: boolean) => ({
  n,
  mark: 100 + n,
  method: `method ${n}`,
  args: [n, new Date(n), { deep: ['é'] }],
  isForecast,
});
const call = (n: number, isForecast = true) => ({
  ...callWithoutSize(n, isForecast),
  bytes: serialize(callWithoutSize(n, isForecast).args).length,
});
const refusal = (n: number): RefusedCall => ({
  call: call(n, n % 2 === 0),
  outcome: { kind: 'failed', code: 'CALL_ABANDONED' },
});
const NOTHING = { issued: 0, leftMark: null, calls: [], refusals: [] };

describe('the queue of a copy', () => {
  test('[FOLP1] has its calls, in order and as they were made, in the next process', async () => {
    const world = worldOf();
    const first = await queueOn(world);
    expect(first.stored).toEqual(NOTHING);
    for (const n of [1, 2, 3]) await first.enqueue(call(n, n !== 2), null);
    await first.dequeue(1, 101, []);
    await end(first);

    const second = await queueOn(world);
    const calls = [call(2, false), call(3)];
    expect(second.stored).toEqual({ issued: 3, leftMark: 101, calls, refusals: [] });
    await second.dequeue(3, 103, []);
    await end(second);

    // The queue is empty, but the next number is still known.
    const third = await queueOn(world);
    expect(third.stored).toEqual({ ...NOTHING, issued: 3, leftMark: 103 });
    await third.enqueue(call(4), null);
    await end(third);
    expect((await queueOn(world)).stored).toEqual({
      ...{ issued: 4, leftMark: 103, calls: [call(4)], refusals: [] },
    });
  });

  test('[FOLP2] has its refusals until they are dismissed, or their calls are made again', async () => {
    const world = worldOf();
    const first = await queueOn(world);
    for (const n of [1, 2, 3, 4]) await first.enqueue(call(n, n % 2 === 0), null);
    await first.dequeue(4, 104, [refusal(1), refusal(2), refusal(3)]);
    await end(first);

    const second = await queueOn(world);
    const refusals = [refusal(1), refusal(2), refusal(3)];
    expect(second.stored).toEqual({ issued: 4, leftMark: 104, calls: [], refusals });
    await second.dismiss(2);
    await second.enqueue(call(5), null);
    await second.enqueue(call(6), 3);
    await end(second);
    const calls = [call(5), call(6)];
    expect((await queueOn(world)).stored).toEqual({
      issued: 6,
      leftMark: 104,
      calls,
      refusals: [refusal(1)],
    });
  });

  test('[FOLP34] its client name and the offset of its numbers are stored once', async () => {
    const world = worldOf();
    const first = await queueOn(world, { newClient: () => 'one', numberOffset: 5 });
    expect([first.client, first.numberOffset]).toEqual(['one', 5]);
    await end(first);
    const second = await queueOn(world, { newClient: () => 'two', numberOffset: 9 });
    expect([second.client, second.numberOffset]).toEqual(['one', 5]);
    await end(second);
    // This is the queue of an older version, which did not store the offset.
    await change(world, 'DELETE FROM earlier');
    const third = await queueOn(world, { newClient: () => 'three', numberOffset: 9 });
    expect([third.client, third.numberOffset]).toEqual(['one', 0]);
  });

  test('[FOLP31] tells how far a snapshot has come, until it is complete', async () => {
    const world = worldOf();
    const mark = { from: { id: 7, life: 8 }, at: { id: 9, life: 8 }, parts: 2, next: ['t', 1n] };
    const first = await queueOn(world);
    expect(first.copy).toBeNull();
    await first.keepCopy(mark);
    await first.keepCopy({ ...mark, parts: 3 });
    await end(first);
    const second = await queueOn(world);
    expect(second.copy).toEqual({ ...mark, parts: 3 });
    await second.keepCopy(null);
    await end(second);
    expect((await queueOn(world)).copy).toBeNull();
  });

  test('[FOLP19] whether calls wait is known without opening it', async () => {
    const world = worldOf();
    const { host } = await hostOn(world);
    expect(await ReplicaQueue.hasCalls(host, 'Room.a')).toBe(false);
    await hosts.pop()!.close();
    const queue = await queueOn(world);
    await queue.enqueue(call(1), null);
    await end(queue);
    const next = await hostOn(world);
    expect(await ReplicaQueue.hasCalls(next.host, 'Room.a')).toBe(true);
    expect(await ReplicaQueue.hasCalls(next.host, 'Room.b')).toBe(false);
    await hosts.pop()!.close();
    const last = await queueOn(world);
    await last.dequeue(1, 101, []);
    await end(last);
    expect(await ReplicaQueue.hasCalls((await hostOn(world)).host, 'Room.a')).toBe(false);
  });

  test('[FOLP13] a damaged queue is not kept in memory', async () => {
    const world = worldOf();
    const queue = await queueOn(world);
    await queue.enqueue(call(1), null);
    await end(queue);
    await change(world, "UPDATE call SET args = x'ff00'");
    await expect(queueOn(world)).rejects.toThrow();
    const { host, advance } = hosts[0]!;
    await advance.call(hosts[0]!, 60_000);
    expect(host.instances.running()).toEqual([]);
  });
});

describe('the parts of a snapshot', () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  const used = (parts: StagedParts, count: number) => parts.use(count, async (found) => [...found]);

  test('[FOLP31] are used in order, as they came, by the next process too', async () => {
    const world = worldOf();
    const parts = new StagedParts((await hostOn(world)).host, 'Room.a');
    for (let n = 1; n <= 11; n++) await parts.add(n, bytes(n, 0, 255));
    const all = Array.from({ length: 11 }, (_, i) => bytes(i + 1, 0, 255));
    expect(await used(parts, 11)).toEqual(all);
    await hosts.pop()!.close();
    expect(await used(new StagedParts((await hostOn(world)).host, 'Room.a'), 11)).toEqual(all);
  });

  test('[FOLP31] a part that comes again replaces itself and all later parts', async () => {
    const parts = new StagedParts((await hostOn(worldOf())).host, 'Room.a');
    for (const n of [1, 2, 3, 4]) await parts.add(n, bytes(n));
    await parts.add(3, bytes(33));
    expect(await used(parts, 3)).toEqual([bytes(1), bytes(2), bytes(33)]);
    await parts.add(1, bytes(11));
    expect(await used(parts, 1)).toEqual([bytes(11)]);
  });

  test('[FOLP31] are used only if exactly the expected parts are there', async () => {
    const { host } = await hostOn(worldOf());
    const parts = new StagedParts(host, 'Room.a');
    for (const n of [1, 2, 3]) await parts.add(n, bytes(n));
    for (const count of [2, 4]) {
      await expect(used(parts, count)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: `follow: ${count} parts are expected, 3 are here.`,
      });
    }
    // The number of parts is right, but the second one is missing.
    await host.deliver({ className: null, id: idOfStorage('_follow/Room.a.parts') }, (instance) => {
      instance.storage.exec('UPDATE part SET n = 4 WHERE n = 2', []);
    });
    await expect(used(parts, 3)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(parts.add(4, 'text')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('changes'),
    });
  });

  test('[FOLP31] of a snapshot that begins again give their space back at once', async () => {
    const world = worldOf();
    const parts = new StagedParts((await hostOn(world)).host, 'Room.a');
    for (const n of [1, 2, 3]) await parts.add(n, new Uint8Array(400_000).fill(n));
    expect(await bytesIn(world)).toBeGreaterThan(1_200_000);
    await parts.add(1, bytes(1));
    expect(await bytesIn(world)).toBeLessThan(400_000);
    await parts.clear();
    expect(await bytesIn(world)).toBe(0);
  });
});
