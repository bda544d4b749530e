// Replies and the flushes they wait for, on a log whose flushes the test ends.

import { beforeEach, expect, test } from 'vitest';
import { Commits } from './commits.ts';

/** Flushes that have begun and not ended. */
let flushes: { readonly end: () => void; readonly fail: (error: Error) => void }[];
let flushCount: number;
let needsFlush: boolean;
/** Flushes end inside their call. */
let isSynchronous: boolean;
let failures: unknown[];
let commits: Commits;

beforeEach(() => {
  flushes = [];
  flushCount = 0;
  needsFlush = false;
  isSynchronous = false;
  failures = [];
  const log = {
    get needsFlush() {
      return needsFlush;
    },
    flush() {
      flushCount += 1;
      if (isSynchronous) return;
      return new Promise<void>((end, fail) => flushes.push({ end, fail }));
    },
  };
  commits = new Commits(log, (error) => {
    failures.push(error);
    commits.fail(error);
  });
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Whether the promise has settled: how, or that it waits, or that there is nothing to wait for. */
async function stateOf(promise: Promise<void> | undefined): Promise<string> {
  if (promise === undefined) return 'durable';
  let state = 'waits';
  promise.then(
    () => (state = 'settled'),
    (error) => (state = `rejected: ${error.message}`),
  );
  await settle();
  return state;
}

function write(options = { confirmed: true }): void {
  commits.written(options);
  needsFlush = true;
}

test('[GATE10] without writes there is nothing to wait for', async () => {
  expect([commits.confirmation(), commits.durability()]).toEqual([undefined, undefined]);
  commits.flush();
  expect(flushCount).toBe(0);
});

test('[GATE10] a write is waited for from its call until the flush of its commit ends', async () => {
  write();
  const waiting = commits.confirmation();
  expect(await stateOf(waiting)).toBe('waits');
  commits.committed();
  expect(flushCount).toBe(1);
  expect(await stateOf(waiting)).toBe('waits');
  expect(await stateOf(commits.confirmation())).toBe('waits');
  flushes[0]!.end();
  expect(await stateOf(waiting)).toBe('settled');
  expect([commits.confirmation(), commits.durability()]).toEqual([undefined, undefined]);
});

test('[GATE10] a reply does not wait for an unconfirmed write, sync() does', async () => {
  write({ confirmed: false });
  expect(commits.confirmation()).toBeUndefined();
  expect(await stateOf(commits.durability())).toBe('waits');
  commits.committed();
  expect(commits.confirmation()).toBeUndefined();
  const durable = commits.durability();
  flushes[0]!.end();
  expect(await stateOf(durable)).toBe('settled');
});

test('[GATE10] one confirmed write among unconfirmed ones is waited for', async () => {
  write({ confirmed: false });
  write();
  write({ confirmed: false });
  expect(await stateOf(commits.confirmation())).toBe('waits');
});

test('[GATE10] a reply that names the last commit waits for unconfirmed writes too', async () => {
  write({ confirmed: false });
  commits.committed();
  commits.named();
  const named = commits.confirmation();
  expect(await stateOf(named)).toBe('waits');
  flushes[0]!.end();
  expect(await stateOf(named)).toBe('settled');
});

test('[LOG4] commits that are made during a flush share the next one', async () => {
  write();
  commits.committed();
  const waiting = [1, 2, 3].map(() => {
    write();
    const confirmation = commits.confirmation();
    commits.committed();
    return confirmation;
  });
  expect(flushCount).toBe(1);
  flushes[0]!.end();
  await settle();
  expect(flushCount).toBe(2);
  expect(await Promise.all(waiting.map(stateOf))).toEqual(['waits', 'waits', 'waits']);
  flushes[1]!.end();
  expect(await Promise.all(waiting.map(stateOf))).toEqual(['settled', 'settled', 'settled']);
  expect(flushCount).toBe(2);
});

test('[LOG4] a later write is waited for on its own', async () => {
  write();
  commits.committed();
  const first = commits.confirmation();
  write();
  const second = commits.confirmation();
  flushes[0]!.end();
  expect([await stateOf(first), await stateOf(second)]).toEqual(['settled', 'waits']);
});

test('[LOG4] on a log that flushes inside the call, a commit is durable at once', async () => {
  isSynchronous = true;
  write();
  const waiting = commits.confirmation();
  commits.committed();
  expect(commits.confirmation()).toBeUndefined();
  expect(await stateOf(waiting)).toBe('settled');
});

test('[KV11] a commit that changed nothing needs no flush', async () => {
  commits.written({ confirmed: true });
  const waiting = commits.durability();
  commits.committed();
  expect(flushCount).toBe(0);
  expect(commits.durability()).toBeUndefined();
  expect(await stateOf(waiting)).toBe('settled');
});

test('[LOG19] nobody waits for a write that was rolled back', async () => {
  write();
  const waiting = commits.confirmation();
  commits.forgotten();
  expect(commits.confirmation()).toBeUndefined();
  expect(await stateOf(waiting)).toBe('settled');
  commits.forgotten();
});

test('[GATE10] a transaction of its own is confirmed', async () => {
  needsFlush = true;
  commits.committed();
  expect(await stateOf(commits.confirmation())).toBe('waits');
});

test('[GATE10] commits that no flush covers are flushed on request, once', async () => {
  needsFlush = true;
  commits.flush();
  expect(flushCount).toBe(1);
  commits.flush();
  commits.named();
  expect(flushCount).toBe(1);
  expect(await stateOf(commits.confirmation())).toBe('waits');
});

test('[GATE12] a flush that fails is reported once, and everything that waits rejects', async () => {
  write();
  commits.committed();
  write();
  commits.committed();
  write();
  const waiting = [commits.confirmation(), commits.durability()];
  const error = new Error('the disk failed');
  flushes[0]!.fail(error);
  expect(await Promise.all(waiting.map(stateOf))).toEqual(
    waiting.map(() => 'rejected: the disk failed'),
  );
  expect(failures).toEqual([error]);
  expect(flushCount).toBe(1);
  expect(commits.durability()).toBeUndefined();
});

test('[GATE12] so is a write that fails inside its call', async () => {
  write();
  const waiting = commits.confirmation();
  const error = new Error('the disk failed');
  const failing = new Commits(
    {
      needsFlush: true,
      flush() {
        throw error;
      },
    },
    (reason) => failures.push(reason),
  );
  failing.written({ confirmed: true });
  const lost = failing.confirmation();
  failing.committed();
  expect(failures).toEqual([error]);
  failing.fail(error);
  expect(await stateOf(lost)).toBe('rejected: the disk failed');
  expect(await stateOf(waiting)).toBe('waits');
});
