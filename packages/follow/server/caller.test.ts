// Tests whose call is known to run, with AsyncLocalStorage and without.

import { describe, expect, test } from 'vitest';
import { Caller, callStoreOf } from './caller.ts';

/** Resolves the first promise that it made when the second one is asked for, and so on. */
function turnsOfTwo() {
  const waiting: (() => void)[] = [];
  return () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 2) for (const next of waiting.splice(0)) next();
    });
}

describe('[FOLS22] with AsyncLocalStorage', () => {
  test('two calls whose awaits alternate keep their callers', async () => {
    const caller = new Caller(callStoreOf(undefined));
    caller.endConstruction();
    const meet = turnsOfTwo();
    const call = (identity: string) =>
      caller.run(identity, async () => {
        const seen = [caller.identity];
        for (let i = 0; i < 3; i++) {
          await meet();
          seen.push(caller.identity);
        }
        return seen;
      });
    const both = await Promise.all([call('ann'), call('bob')]);
    expect(both).toEqual([Array(4).fill('ann'), Array(4).fill('bob')]);
    expect(caller.identity).toBeUndefined();
  });

  test('the code of another object runs for nobody', () => {
    const [one, other] = [new Caller(callStoreOf(undefined)), new Caller(callStoreOf(undefined))];
    one.run('ann', () => {
      expect([one.identity, other.identity]).toEqual(['ann', undefined]);
      other.run('bob', () => expect([one.identity, other.identity]).toEqual([undefined, 'bob']));
      expect(one.identity).toBe('ann');
    });
  });
});

describe('[FOLS22] without AsyncLocalStorage', () => {
  const refused = expect.objectContaining({
    code: 'FOLLOW_UNSUPPORTED',
    message: expect.stringMatching(
      /^ctx\.caller: .*"nodejs_compat" to compatibility_flags.*AsyncLocalStorage/,
    ),
  });

  test('the caller is known in the synchronous part of a call, and never wrong after it', async () => {
    const caller = new Caller(null);
    expect(caller.identity).toBeUndefined();
    caller.endConstruction();
    expect(() => caller.identity).toThrow(refused);
    const meet = turnsOfTwo();
    const call = (identity: string) =>
      caller.run(identity, async () => {
        expect(caller.identity).toBe(identity);
        await meet();
        expect(() => caller.identity).toThrow(refused);
      });
    await Promise.all([call('ann'), call('bob')]);
    expect(() => caller.identity).toThrow(refused);
  });

  test('a call that throws is over', () => {
    const caller = new Caller(null);
    caller.endConstruction();
    expect(() =>
      caller.run('ann', () => {
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(() => caller.identity).toThrow(refused);
  });
});
