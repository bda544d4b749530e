// Tests that promises which hang are found.

import { expect, test } from 'vitest';
import { NeverSettled, SettleChecker, settled } from './settle.ts';

test('[SIM2] a promise that never settles is named', async () => {
  const checker = new SettleChecker();
  checker.watch('kept', Promise.resolve(1));
  checker.watch('broken', Promise.reject(new Error('no'))).catch(() => {});
  checker.watch('hanging', new Promise(() => {}));
  const error: unknown = await checker.allSettled().catch((thrown) => thrown);
  expect(error).toBeInstanceOf(NeverSettled);
  expect((error as Error).message).toContain('hanging');
  expect((error as Error).message).not.toMatch(/kept|broken/);
  await checker.settled('kept');
  await expect(checker.settled('hanging')).rejects.toThrow(NeverSettled);
  expect(checker.pending).toEqual(['hanging']);
  await expect(settled('hanging', new Promise(() => {}))).rejects.toThrow(NeverSettled);
});

test('[SIM2] a promise that needs to be driven for several turns settles', async () => {
  const checker = new SettleChecker();
  let resolve = () => {};
  let turns = 0;
  checker.watch(
    'late',
    new Promise<void>((done) => {
      resolve = done;
    }),
  );
  await checker.allSettled(() => {
    turns += 1;
    if (turns === 10) resolve();
  });
  expect(turns).toBe(10);
});
