import { expect, test } from 'vitest';
import type { StorageHandle } from '../contract/storage.ts';
import { followCommits, readAfterCommits } from './every-commit.ts';

/** Makes a storage whose commits and failures the test triggers. */
function fakeStorage() {
  let listener: ((rows: object[]) => void) | undefined;
  let onError: ((error: unknown) => void) | undefined;
  const asPrivate = () => ({
    subscribe(told: typeof listener, options: { onError: typeof onError }) {
      listener = told;
      onError = options.onError;
      return () => (listener = undefined);
    },
  });
  const subscribe = () => expect.fail('its result would be kept for the next visit');
  const live = () => ({ subscribe, asPrivate });
  return {
    storage: { sql: { live } } as unknown as StorageHandle,
    commit: () => listener?.([]),
    fail: (error: unknown) => onError?.(error),
    isFollowed: () => listener !== undefined,
  };
}

/** Makes a task whose runs the test ends one by one. */
function heldTask() {
  const ends: ((error?: unknown) => void)[] = [];
  const run = () =>
    new Promise<void>((resolve, reject) =>
      ends.push((error) => (error === undefined ? resolve() : reject(error))),
    );
  return { run, ends, count: () => ends.length };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('[HIST12] one reading runs at a time, and commits until the end of its pause are one more reading', async () => {
  const { storage, commit, isFollowed } = fakeStorage();
  const [reading, pausing] = [heldTask(), heldTask()];
  const end = readAfterCommits(storage, {
    read: reading.run,
    onError: (error) => expect.fail(String(error)),
    pause: pausing.run,
  });
  expect(reading.count()).toBe(0);
  for (let i = 0; i < 5; i++) commit();
  expect(reading.count()).toBe(1);
  reading.ends[0]!();
  await settled();
  commit();
  await settled();
  expect([reading.count(), pausing.count()]).toEqual([1, 1]);
  pausing.ends[0]!();
  await settled();
  expect(reading.count()).toBe(2);
  reading.ends[1]!();
  await settled();
  pausing.ends[1]!();
  await settled();
  expect(reading.count()).toBe(2);
  commit();
  expect(reading.count()).toBe(3);
  commit();
  end();
  reading.ends[2]!();
  await settled();
  expect([reading.count(), pausing.count(), isFollowed()]).toEqual([3, 2, false]);
});

test('[HIST12] a reading that fails is reported and made again after the next commit; not after the end', async () => {
  const { storage, commit, fail } = fakeStorage();
  const reading = heldTask();
  const errors: unknown[] = [];
  const end = readAfterCommits(storage, {
    read: reading.run,
    onError: (error) => errors.push(error),
    pause: async () => {},
  });
  fail('not heard');
  commit();
  reading.ends[0]!('not read');
  await settled();
  expect(errors).toEqual(['not heard', 'not read']);
  commit();
  expect(reading.count()).toBe(2);
  end();
  reading.ends[1]!('too late');
  await settled();
  expect(errors).toHaveLength(2);
});

test('[LIVE22] commits are followed by a private read, whose result is not kept', () => {
  const { storage, commit } = fakeStorage();
  let told = 0;
  const end = followCommits(
    storage,
    () => (told += 1),
    (error) => expect.fail(String(error)),
  );
  commit();
  expect(told).toBe(1);
  end();
});
