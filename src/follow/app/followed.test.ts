import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { setFollowed, withNote } from '../../shared/calls/stubs/followed-calls.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { UNKNOWN_FOLLOW_STATE } from '../../shared/contract/followed.ts';
import { followed, settled } from './followed.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('[FOLP23] a state that cannot be read is offline, and read again after pauses that double up to 30 s', async () => {
  const full = () => storageError('DISK_FULL', 'full');
  let answer = async (): Promise<unknown> => ({
    ...UNKNOWN_FOLLOW_STATE,
    state: 'current',
    version: 1,
  });
  let asks = 0;
  const stub = {};
  setFollowed(stub, {
    address: { className: 'Room', id: 'a' } as never,
    ask: (() => {
      asks += 1;
      return answer();
    }) as never,
  });
  const status = followed(stub);
  const seen: string[] = [];
  const listener = () => {
    seen.push(status.state);
    if (status.state !== 'current') return;
    answer = async () => {
      throw full();
    };
  };
  status.addEventListener('change', listener);
  await vi.advanceTimersByTimeAsync(0);
  expect(seen).toEqual(['current', 'offline']);
  const delays: number[] = [];
  for (let waitedMs = 0, before = asks; delays.length < 7; ) {
    await vi.advanceTimersByTimeAsync(1000);
    waitedMs += 1000;
    if (asks === before) continue;
    delays.push(waitedMs);
    [waitedMs, before] = [0, asks];
  }
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  let isAnswered = false;
  answer = async () => {
    if (isAnswered) return new Promise(() => {});
    isAnswered = true;
    return { ...UNKNOWN_FOLLOW_STATE, state: 'catchingUp', version: 2 };
  };
  await vi.advanceTimersByTimeAsync(30_000);
  expect(status.state).toBe('catchingUp');
});

test('[FOLP23] after the end of the connection nothing is asked any more', async () => {
  let asks = 0;
  const stub = {};
  setFollowed(stub, {
    address: { className: 'Room', id: 'b' } as never,
    ask: (async () => {
      asks += 1;
      throw storageError('CONNECTION_CLOSED', 'closed');
    }) as never,
  });
  const status = followed(stub);
  status.addEventListener('change', () => {});
  await vi.advanceTimersByTimeAsync(120_000);
  const ended = asks;
  await vi.advanceTimersByTimeAsync(120_000);
  expect([status.state, asks]).toEqual(['offline', ended]);
});

test('[FOLP36] the answer to a call comes however many workers are lost while it is waited for', async () => {
  let asks = 0;
  const call = withNote(Promise.resolve('forecast'), {
    n: 1,
    address: { className: 'Room', id: 'c' } as never,
    ask: (async () => {
      asks += 1;
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (asks <= 30) throw storageError('CONNECTION_CLOSED', 'lost');
      return { kind: 'value', value: 'answer' };
    }) as never,
  });
  const answer = settled(call);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(await answer).toBe('answer');
});
