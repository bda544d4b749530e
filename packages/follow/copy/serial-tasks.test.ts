// Tests that tasks run one after the other, also after one that fails.

import { expect, test } from 'vitest';
import { SerialTasks } from './serial-tasks.ts';

test('[FOLP13] tasks run one at a time in their order, after a failed one too, and are counted until they end', async () => {
  const tasks = new SerialTasks();
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const results = [0, 1, 2].map((i) =>
    tasks.run(async () => {
      begun.push(i);
      await new Promise<void>((resolve) => ends.push(resolve));
      if (i === 0) throw new RangeError('first');
      return i;
    }),
  );
  let isSettled = false;
  void tasks.settled.then(() => (isSettled = true));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (const i of [0, 1, 2]) {
    await turn();
    expect([begun.length, tasks.count, isSettled]).toEqual([i + 1, 3 - i, false]);
    ends[i]!();
  }
  expect(await Promise.allSettled(results)).toEqual([
    { status: 'rejected', reason: expect.any(RangeError) },
    { status: 'fulfilled', value: 1 },
    { status: 'fulfilled', value: 2 },
  ]);
  await turn();
  expect([begun, tasks.count, isSettled]).toEqual([[0, 1, 2], 0, true]);
});
