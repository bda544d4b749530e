// The late parts of the worker, with an import that the test answers.

import { expect, test } from 'vitest';
import { LateCode, type LateParts } from './load-late.ts';

const PARTS = { openForeign: () => {} } as unknown as LateParts;

/** A loader whose imports wait for the test, and the attempts that it made. */
function started() {
  const attempts: number[] = [];
  const waiting: { resolve(parts: LateParts): void; reject(error: Error): void }[] = [];
  const code = new LateCode((attempt) => {
    attempts.push(attempt);
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  });
  return { code, attempts, waiting };
}

test('[PKG17] a load that fails is WORKER_FAILED and names the operation, the file and the reason', async () => {
  const { code, waiting } = started();
  const load = code.load('importDatabase');
  waiting[0]!.reject(new TypeError('nothing at https://app.test/late.js'));
  await expect(load).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringMatching(/^importDatabase: .*nothing at https:\/\/app\.test\/late\.js/),
  });
});

test('[PKG17] the next operation tries again, at an address that has not failed', async () => {
  const { code, attempts, waiting } = started();
  const both = [code.load('diff'), code.load('merge')].map((load) => load.catch(() => 'failed'));
  for (const each of waiting) each.reject(new Error('offline'));
  expect(await Promise.all(both)).toEqual(['failed', 'failed']);
  const next = code.load('diff');
  expect(attempts).toEqual([0, 0, 1]);
  waiting[2]!.resolve(PARTS);
  expect(await next).toBe(PARTS);
});

test('[PKG17] a failure that comes late does not bring an address back that has failed meanwhile', async () => {
  const { code, attempts, waiting } = started();
  const load = () => code.load('diff').catch(() => 'failed');
  const [first, late] = [load(), load()];
  waiting[0]!.reject(new Error('offline'));
  await first;
  const second = load();
  waiting[2]!.reject(new Error('offline'));
  await second;
  waiting[1]!.reject(new Error('offline'));
  await late;
  void load();
  expect(attempts).toEqual([0, 0, 1, 2]);
});

test('[PKG16] what is loaded, or given by an entry, is not loaded again', async () => {
  const loaded = started();
  const first = loaded.code.load('diff');
  loaded.waiting[0]!.resolve(PARTS);
  await first;
  expect(await loaded.code.load('merge')).toBe(PARTS);
  expect(loaded.attempts).toEqual([0]);
  const given = started();
  given.code.give(PARTS);
  expect(await given.code.load('diff')).toBe(PARTS);
  expect(given.attempts).toEqual([]);
});
