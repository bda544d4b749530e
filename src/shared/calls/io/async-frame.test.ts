// Tests frames in Node, whose V8 has the same promises as Chromium. e2e/specs/libraries.spec.ts tests both browsers.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  bindToFrame,
  currentFrame,
  followFrames,
  runInFrame,
  runWithoutFrame,
} from './async-frame.ts';

const KEY = {};
const within = <T>(name: string, call: () => T) => runInFrame(new Map([[KEY, name]]), call);
const name = () => currentFrame()?.get(KEY);
const later = () => new Promise((resolve) => setTimeout(resolve, 1));

describe('async frame', () => {
  const original = Object.getOwnPropertyDescriptor(Promise.prototype, 'constructor');
  const { queueMicrotask } = globalThis;
  let end: () => void;
  beforeEach(() => {
    end = followFrames();
  });
  afterEach(() => end());

  test('[LIB6] code that awaits promises keeps its frame, whatever runs in between', async () => {
    const chain = async (own: string) => {
      const seen = [name()];
      await later();
      seen.push(name());
      await Promise.all([later(), within('inner', later)]);
      seen.push(name());
      await Promise.reject(new Error('x')).catch(() => seen.push(name()));
      seen.push(name());
      return seen.every((one) => one === own);
    };
    const chains = ['a', 'b', 'c'].map((own) => within(own, () => chain(own)));
    expect(await Promise.all(chains)).toEqual([true, true, true]);
    expect(name()).toBeUndefined();
  });

  test('[LIB6] a bound function and a microtask have the frame they were given in', async () => {
    const bound = within('bound', () => bindToFrame(name));
    expect(within('other', bound)).toBe('bound');
    const seen = within(
      'own',
      () =>
        new Promise((resolve) => {
          globalThis.queueMicrotask(() => resolve(name()));
        }),
    );
    expect(await seen).toBe('own');
  });

  test('[LIB6] a task inherits no frame from the code that starts it, nor passes its own on', async () => {
    const seen: unknown[] = [];
    await within('starter', async () => {
      runWithoutFrame(async () => {
        seen.push(name());
        await undefined;
        seen.push(name());
      });
      seen.push(name());
      await later();
      seen.push(name());
    });
    expect(seen).toEqual([undefined, 'starter', undefined, 'starter']);
  });

  test('[LIB6] a promise shows the constructor it has, and an object may be given one', async () => {
    class Special extends Promise<unknown> {}
    expect(Promise.resolve().constructor).toBe(Promise);
    expect(Special.resolve().constructor).toBe(Special);
    expect(Object.create(Promise.prototype).constructor).toBe(Promise);
    const changed = Object.assign(Promise.resolve(), { constructor: 5 });
    expect([changed.constructor, Promise.prototype.constructor]).toEqual([5, Promise]);
  });

  test('[LIB6] replaced functions are put back', () => {
    expect(globalThis.queueMicrotask).not.toBe(queueMicrotask);
    end();
    expect(Object.getOwnPropertyDescriptor(Promise.prototype, 'constructor')).toEqual(original);
    expect(globalThis.queueMicrotask).toBe(queueMicrotask);
  });
});
