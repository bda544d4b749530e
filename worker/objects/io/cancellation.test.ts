import { expect, test } from 'vitest';
import { Cancellations, cancellationOf } from './cancellation.ts';

const URL = 'blob:flag';
const CANCELLED = expect.objectContaining({ code: 'CANCELLED' });

function create() {
  const world = { nowMs: 1000, aheadMs: 0, revoked: false, looks: 0 };
  const cancellations = new Cancellations({
    now: () => world.nowMs + world.aheadMs,
    elapsed: () => world.nowMs,
    isRevoked() {
      world.looks += 1;
      return world.revoked;
    },
  });
  return { world, cancellations };
}

test('[CANCEL2] a call that has waited is checked by its flag, and is not made if that was revoked', () => {
  const { world, cancellations } = create();
  const call = cancellations.begin({ url: URL, madeMs: 1000 });
  world.revoked = true;
  world.nowMs += 5000;
  expect(() => call.check()).toThrow(CANCELLED);
});

test('[CANCEL9] a flag that was never seen counts as revoked only when it is 2 s old', () => {
  for (const [ageMs, isCancelled] of [
    [1999, false],
    [2000, true],
  ] as const) {
    const { world, cancellations } = create();
    world.revoked = true; // or not known here yet
    const early = cancellations.begin({ url: URL, madeMs: 1000 });
    const late = cancellations.begin({ url: 'blob:late', madeMs: 1000 - ageMs });
    expect(late.isCancelled()).toBe(isCancelled);
    world.nowMs += ageMs;
    expect(early.isCancelled()).toBe(isCancelled);
  }
});

test('[CANCEL9] a flag that was seen counts as revoked as soon as it is looked at again', () => {
  const { world, cancellations } = create();
  const call = cancellations.begin({ url: URL, madeMs: 1000 });
  world.nowMs += 500;
  expect(call.isCancelled()).toBe(false);
  world.revoked = true;
  world.nowMs += 100;
  expect(call.isCancelled()).toBe(true);
});

test('[CLOCK17] a flag is looked at as soon although the wall clock was set back, before the call begins or after', () => {
  for (const isBefore of [true, false]) {
    const { world, cancellations } = create();
    if (isBefore) world.aheadMs = -3_600_000;
    const call = cancellations.begin({ url: URL, madeMs: 1000 });
    world.revoked = true;
    world.aheadMs = -3_600_000;
    world.nowMs += 2000;
    expect(call.isCancelled()).toBe(true);
  }
});

test('[CANCEL2] the calls that a message has cancelled are not made, others are', () => {
  const { world, cancellations } = create();
  const [call, second, other] = [URL, 'blob:second', 'blob:other'].map((url) =>
    cancellations.begin({ url, madeMs: 1000 }),
  );
  cancellations.cancel(['blob:unknown', URL, 'blob:second']);
  for (const cancelled of [call!, second!]) expect(() => cancelled.check()).toThrow(CANCELLED);
  other!.check();
  // Their flags still exist for a while.
  world.nowMs += 1000;
  for (const cancelled of [call!, second!]) expect(() => cancelled.check()).toThrow(CANCELLED);
  expect(world.looks).toBe(0);
});

test('[CANCEL9] a call that did not wait costs no look, and those of one message cost one', () => {
  const { world, cancellations } = create();
  const calls = [1, 2, 3].map(() => cancellations.begin({ url: URL, madeMs: 1000 }));
  for (const call of calls) call.check();
  expect(world.looks).toBe(0);
  world.nowMs += 1000;
  for (const call of calls) call.check();
  expect(world.looks).toBe(1);
  // Nor does a later call with this flag.
  world.nowMs += 1000;
  cancellations.begin({ url: URL, madeMs: world.nowMs }).check();
  expect(world.looks).toBe(1);
});

test('[CANCEL5] nothing is left of calls that are over, and a late message changes nothing', () => {
  const { cancellations } = create();
  const calls = [1, 2].map(() => cancellations.begin({ url: URL, madeMs: 1000 }));
  calls[0]!.end();
  expect(cancellations.size).toBe(1);
  calls[1]!.end();
  expect(cancellations.size).toBe(0);
  cancellations.cancel([URL]);
  expect(() => cancellations.begin({ url: URL, madeMs: 1000 }).check()).not.toThrow();
});

test('[CANCEL2] a caller in this thread cancels by its signal', () => {
  const controller = new AbortController();
  const call = cancellationOf(controller.signal);
  call.check();
  controller.abort();
  expect(call.isCancelled()).toBe(true);
  expect(() => call.check()).toThrow(CANCELLED);
});
