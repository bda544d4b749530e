import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { Flags } from './flags.ts';

function create() {
  const made: string[] = [];
  const revoked: string[] = [];
  const flags = new Flags({
    make: () => {
      made.push(`blob:${made.length}`);
      return made.at(-1)!;
    },
    revoke: (url) => void revoked.push(url),
    now: () => 7,
  });
  return { flags, made, revoked };
}

test('[CANCEL5] calls of a signal share a flag and one listener, which goes with the last of them', () => {
  const { flags, made } = create();
  const { signal } = new AbortController();
  const listeners = () => getEventListeners(signal, 'abort').length;
  const one = flags.begin(signal, () => {});
  const two = flags.begin(signal, () => {});
  expect([one.flag, two.flag]).toEqual(Array(2).fill({ url: 'blob:0', madeMs: 7 }));
  one.end();
  one.end();
  expect(listeners()).toBe(1);
  two.end();
  expect([made, listeners()]).toEqual([['blob:0'], 0]);
});

test('[CANCEL3] an abort revokes the flag and tells the calls under way, once', () => {
  const { flags, revoked } = create();
  const controller = new AbortController();
  const told: string[] = [];
  const over = flags.begin(controller.signal, () => void told.push('over'));
  const running = flags.begin(controller.signal, () => {
    told.push('running');
    running.end();
  });
  over.end();
  controller.abort();
  expect([told, revoked]).toEqual([['running'], ['blob:0']]);
});

test('[CANCEL5] a flag that was not revoked is used again, by another signal; a revoked one never', () => {
  const { flags, made } = create();
  for (let i = 0; i < 5; i++) flags.begin(new AbortController().signal, () => {}).end();
  expect(made).toEqual(['blob:0']);
  const controller = new AbortController();
  const call = flags.begin(controller.signal, () => {});
  controller.abort();
  call.end();
  expect(flags.begin(new AbortController().signal, () => {}).flag.url).toBe('blob:1');
});

test('[CANCEL5] few flags are kept', () => {
  const { flags, made, revoked } = create();
  const calls = Array.from({ length: 100 }, () =>
    flags.begin(new AbortController().signal, () => {}),
  );
  for (const call of calls) call.end();
  expect(made.length - revoked.length).toBeLessThanOrEqual(32);
});
