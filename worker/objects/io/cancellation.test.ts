import { expect, test } from 'vitest';
import { Cancellations, cancellationOf, KNOWN_MS } from './cancellation.ts';

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

test('[CANCEL9] a flag that was never seen counts as revoked only after a while; a flag that was seen, at once', () => {
  const { world, cancellations } = create();
  const call = cancellations.begin({ url: URL, madeMs: 1000 });
  world.revoked = true; // or not known here yet
  world.nowMs = 1000 + KNOWN_MS - 1;
  expect(call.isCancelled()).toBe(false);
  world.revoked = false;
  world.nowMs += 100;
  expect(call.isCancelled()).toBe(false);
  world.revoked = true;
  world.nowMs += 100;
  expect(call.isCancelled()).toBe(true);

  const never = cancellations.begin({ url: 'blob:never', madeMs: world.nowMs });
  world.nowMs += KNOWN_MS;
  expect(never.isCancelled()).toBe(true);
});

test('[CLOCK17] a flag is looked at as soon although the wall clock was set back', () => {
  const { world, cancellations } = create();
  const call = cancellations.begin({ url: URL, madeMs: 1000 });
  world.revoked = true;
  world.aheadMs = -3_600_000;
  world.nowMs += KNOWN_MS;
  expect(call.isCancelled()).toBe(true);
});

test('[CANCEL2] a call that a message has cancelled is not made', () => {
  const { world, cancellations } = create();
  const call = cancellations.begin({ url: URL, madeMs: 1000 });
  cancellations.cancel([URL, 'blob:unknown']);
  expect(() => call.check()).toThrow(CANCELLED);
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
