import { expect, test } from 'vitest';
import { type Flush, type Flushing, runFlushing } from './file.ts';

const log: string[] = [];

function* steps(...flushes: (() => Flush)[]): Flushing<number> {
  for (const [i, flush] of flushes.entries()) {
    try {
      yield flush();
      log.push(`flushed ${i}`);
    } catch (error) {
      log.push(`${(error as Error).message} ${i}`);
    }
  }
  return flushes.length;
}

const atOnce = () => {};
const later = () => Promise.resolve();
const fails = () => {
  throw new Error('failed');
};
const failsLater = () => Promise.reject(new Error('failed'));

test('[FILE9] work on a medium that flushes at once ends inside its call', () => {
  log.length = 0;
  expect(runFlushing(steps(atOnce, fails, atOnce))).toBe(3);
  expect(log).toEqual(['flushed 0', 'failed 1', 'flushed 2']);
});

test('[FILE9] work on a medium that flushes later continues after each flush, in order', async () => {
  log.length = 0;
  const done = runFlushing(steps(later, failsLater, later));
  expect(log).toEqual([]);
  expect(await done).toBe(3);
  expect(log).toEqual(['flushed 0', 'failed 1', 'flushed 2']);
});

test('[FILE9] an error in the work reaches its caller', async () => {
  function* throwing(flush: () => Flush): Flushing<void> {
    yield flush();
    throw new Error('after');
  }
  expect(() => runFlushing(throwing(atOnce))).toThrow('after');
  await expect(runFlushing(throwing(later))).rejects.toThrow('after');
});
