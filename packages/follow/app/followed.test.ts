// Tests `followed` and `settled` with stubs whose answers the tests give.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { setFollowed, withNote } from '../../../src/shared/calls/stubs/followed-calls.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import { UNKNOWN_FOLLOW_STATE } from '../../../src/shared/contract/followed.ts';
import type { FollowAsk } from '../../../src/shared/wire/follow-asks.ts';
import { StoppedTime } from '../../testing/page/stopped-time.ts';
import { type FollowedStatus, followed, settled } from './followed.ts';

let time: StoppedTime;
beforeEach(() => {
  time = new StoppedTime();
});
afterEach(() => time.end());

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
  await time.pass(0);
  expect(seen).toEqual(['current', 'offline']);
  const delays: number[] = [];
  for (let waitedMs = 0, before = asks; delays.length < 7; ) {
    await time.pass(1000);
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
  await time.pass(30_000);
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
  await time.pass(120_000);
  const ended = asks;
  await time.pass(120_000);
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
  await time.pass(31_000);
  expect(await answer).toBe('answer');
});

const ADDRESS = { className: 'Room', id: 'd' } as never;

/** Returns a stub whose questions are answered by `answer`. */
function stubOf(answer: (ask: FollowAsk) => unknown, address = ADDRESS, ask = askOf(answer)) {
  const stub = {};
  setFollowed(stub, { address, ask: ask as never });
  return stub;
}

const askOf = (answer: (ask: FollowAsk) => unknown) => async (_: unknown, ask: FollowAsk) =>
  answer(ask);

/** Returns the promise of a call with the number `n`; undefined if the call has changed nothing. */
function callOf(
  call: Promise<unknown>,
  n: number | undefined,
  answer: (ask: FollowAsk) => unknown,
) {
  return withNote(call, { n, address: ADDRESS, ask: askOf(answer) as never });
}

const lost = () => {
  throw storageError('CONNECTION_CLOSED', 'lost');
};

test('[FOLP3] settled is the answer of the server, whatever the forecast was', async () => {
  const asked: unknown[] = [];
  const value = (ask: unknown) => {
    asked.push(ask);
    return { kind: 'value', value: 'theirs' };
  };
  const error = () => ({ kind: 'error', error: new RangeError('theirs') });
  const mine = () => Promise.reject(new TypeError('mine'));
  expect(await settled(callOf(Promise.resolve('mine'), 7, value))).toBe('theirs');
  expect(asked).toEqual([{ kind: 'settled', n: 7 }]);
  expect(await settled(callOf(mine(), 7, value))).toBe('theirs');
  await expect(settled(callOf(Promise.resolve('mine'), 7, error))).rejects.toThrow(RangeError);
  // A call that has changed nothing has no number, and the server is not asked.
  asked.length = 0;
  expect(await settled(callOf(Promise.resolve('mine'), undefined, value))).toBe('mine');
  await expect(settled(callOf(mine(), undefined, value))).rejects.toThrow(TypeError);
  expect(asked).toEqual([]);
});

test('[FOLP3] settled and followed take nothing but calls and stubs of objects that follow', async () => {
  const unasked = withNote(Promise.resolve(1), { n: 1, address: ADDRESS, ask: undefined });
  for (const call of [Promise.resolve(1), unasked]) {
    await expect(settled(call)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('settled(stub.method())'),
    });
  }
  const inside = {};
  setFollowed(inside, { address: ADDRESS, ask: undefined });
  for (const stub of [{}, inside]) {
    expect(() => followed(stub)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('connect() or createObjects()'),
      }),
    );
  }
});

test('[FOLP3] stubs of one object of one connection have one state, others have their own', () => {
  const ask = askOf(() => UNKNOWN_FOLLOW_STATE);
  const of = (className: string, id: string, by = ask) =>
    followed(stubOf(() => null, { className, id } as never, by));
  const status = of('Room', 'a');
  expect(of('Room', 'a')).toBe(status);
  const others = [
    of('Room', 'b'),
    of('Other', 'a'),
    of(
      'Room',
      'a',
      askOf(() => null),
    ),
  ];
  expect(new Set([status, ...others]).size).toBe(4);
});

test('[FOLP3] a status has the members of the last state, and questions are asked as they are', async () => {
  const known = {
    state: 'stopped',
    reason: 'PROTOCOL',
    progress: 0.5,
    pending: 3,
    lastSyncAtMs: 4,
    refused: 5,
  };
  const asked: FollowAsk[] = [];
  const answers: Record<string, unknown> = {
    state: { ...known, version: 9 },
    refusals: ['a refusal'],
    forget: ['a call'],
    dismiss: null,
    retry: null,
  };
  const status = followed(
    stubOf((ask) => {
      asked.push(ask);
      return answers[ask.kind];
    }),
  );
  const seen = ({ state, reason, progress, pending, lastSyncAtMs, refused }: FollowedStatus) => ({
    ...{ state, reason, progress, pending, lastSyncAtMs, refused },
  });
  expect(seen(status)).toEqual(UNKNOWN_FOLLOW_STATE);
  let changes = 0;
  EventTarget.prototype.addEventListener.call(status, 'change', () => void changes++);
  expect(await status.read()).toEqual(known);
  expect(seen(status)).toEqual(known);
  await status.read();
  expect(changes).toBe(1);
  for (const name of Object.keys(known)) {
    answers.state = { ...known, [name]: null, version: 10 };
    await status.read();
    answers.state = { ...known, version: 11 };
    await status.read();
  }
  expect(changes).toBe(13);
  asked.length = 0;
  expect(await status.refusals()).toEqual(['a refusal']);
  expect(await status.forget()).toEqual(['a call']);
  expect(await status.dismiss({ n: 2 })).toBeUndefined();
  expect(await status.retry({ n: 3 })).toBeUndefined();
  expect(asked).toEqual([
    { kind: 'refusals' },
    { kind: 'forget' },
    { kind: 'dismiss', n: 2 },
    { kind: 'retry', n: 3 },
  ]);
});

test('[FOLP23] the state is asked for while somebody listens to change, once for all of them', async () => {
  const waiting: ((state: unknown) => void)[] = [];
  const after: number[] = [];
  const status = followed(
    stubOf((ask) => {
      after.push(ask.kind === 'state' ? ask.after : -1);
      return new Promise((resolve) => waiting.push(resolve));
    }),
  );
  const answer = async (pending: number, version: number) => {
    waiting.shift()!({ ...UNKNOWN_FOLLOW_STATE, pending, version });
    await time.pass(0);
  };
  status.addEventListener('other', () => {});
  status.addEventListener('change', null);
  expect(after).toEqual([]);
  const seen: string[] = [];
  const [one, two] = [() => void seen.push('one'), () => void seen.push('two')];
  status.addEventListener('change', one);
  status.addEventListener('change', two);
  await answer(1, 5);
  expect(seen).toEqual(['one', 'two']);
  expect(after).toEqual([0, 5]);
  status.removeEventListener('other', one);
  status.removeEventListener('change', two);
  await answer(2, 6);
  expect(seen).toEqual(['one', 'two', 'one']);
  expect(after).toEqual([0, 5, 6]);
  status.removeEventListener('change', one);
  await answer(3, 7);
  expect([seen.length, after.length]).toEqual([3, 3]);
  // A later listener begins with version 0, so it gets the present state.
  status.addEventListener('change', two);
  await answer(4, 8);
  expect(seen.at(-1)).toBe('two');
  expect(after).toEqual([0, 5, 6, 0, 8]);
});

test('[FOLP23] a state that fails by an error of any kind is offline, and asked for again', async () => {
  for (const error of [new RangeError('of a constructor'), 'a text', null]) {
    let asks = 0;
    const status = followed(
      stubOf(() => {
        asks += 1;
        if (asks > 1) throw error;
        return { ...UNKNOWN_FOLLOW_STATE, state: 'current', version: 1 };
      }),
    );
    const seen: string[] = [];
    const listener = () => void seen.push(status.state);
    status.addEventListener('change', listener);
    await time.pass(1000);
    expect([asks, seen]).toEqual([3, ['current', 'offline']]);
    status.removeEventListener('change', listener);
    await time.pass(2000);
  }
});

test('[FOLP23] a state that could not be read keeps the other members, and is asked for again', async () => {
  const after: number[] = [];
  let answer = (): unknown => ({
    ...UNKNOWN_FOLLOW_STATE,
    state: 'catchingUp',
    progress: 0.5,
    pending: 2,
    version: 4,
  });
  const status = followed(
    stubOf((ask) => {
      after.push((ask as { after: number }).after);
      const state = answer();
      answer = () => {
        throw storageError('IO', 'broken');
      };
      return state;
    }),
  );
  status.addEventListener('change', () => {});
  await time.pass(0);
  expect(after).toEqual([0, 4]);
  expect(status).toMatchObject({ state: 'offline', progress: null, pending: 2 });
  await time.pass(1000);
  expect(after).toEqual([0, 4, 0]);
  // After an answer, the pause is one second again.
  answer = () => ({ ...UNKNOWN_FOLLOW_STATE, version: 5 });
  await time.pass(2000);
  const count = after.length;
  await time.pass(999);
  expect(after).toHaveLength(count);
  await time.pass(1);
  expect(after).toHaveLength(count + 1);
});

test('[FOLP36] when ten workers in a row are lost as soon as they are asked, no further one is asked', async () => {
  let asks = 0;
  const answer = settled(
    callOf(Promise.resolve(1), 1, () => {
      asks += 1;
      return lost();
    }),
  );
  await expect(answer).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect(asks).toBe(10);
});

test('[FOLP36] a worker that is lost after a second begins a new count of ten', async () => {
  let asks = 0;
  const answer = settled(
    callOf(Promise.resolve(1), 1, async () => {
      asks += 1;
      if (asks === 9) await new Promise((resolve) => setTimeout(resolve, 1000));
      return lost();
    }),
  );
  const rejected = expect(answer).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await time.pass(1000);
  await rejected;
  expect(asks).toBe(18);
});

test('[FOLP36] any other error is thrown at once', async () => {
  for (const error of [storageError('IO', 'broken'), new RangeError('own')]) {
    let asks = 0;
    const answer = settled(
      callOf(Promise.resolve(1), 1, () => {
        asks += 1;
        throw error;
      }),
    );
    await expect(answer).rejects.toBe(error);
    expect(asks).toBe(1);
  }
});

test('[FOLP23] a pause does not keep a process of Node alive; in a browser a timer is a number', async () => {
  for (const isBrowser of [false, true]) {
    time.end();
    time = new StoppedTime(isBrowser);
    let asks = 0;
    const status = followed(
      stubOf(() => {
        asks += 1;
        throw storageError('IO', 'broken');
      }),
    );
    status.addEventListener('change', () => {});
    await time.pass(3000);
    expect([asks, time.unrefs]).toEqual([3, isBrowser ? 0 : 3]);
  }
});
