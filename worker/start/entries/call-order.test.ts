// Tests the order of calls of one stub that are made while their object opens, or is evicted and opens again.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { createObjects, DurableObject, evictDurableObject } from './node-objects.ts';

const CALLS = Array.from({ length: 120 }, (_, n) => n);
let arrived: number[];

class Counter extends DurableObject {
  add(n: number): void {
    arrived.push(n);
  }
}

let objects: Awaited<ReturnType<typeof createObjects<{ Counter: typeof Counter }>>>;

beforeEach(async () => {
  arrived = [];
  objects = await createObjects({ Counter });
});
afterEach(() => objects.close());

/** Makes each call in a microtask of its own, so that they meet the object while it closes, while it opens, and open. */
async function callInTurns(add: (n: number) => Promise<void>): Promise<void> {
  const called: Promise<void>[] = [];
  for (const n of CALLS) {
    called.push(add(n));
    await null;
  }
  await Promise.all(called);
}

test('[STUB5] calls of a stub arrive in their order while the object opens', async () => {
  const stub = objects.env.Counter.getByName('a');
  await callInTurns((n) => stub.add(n));
  expect(arrived).toEqual(CALLS);
});

test('[STUB5] calls of a stub arrive in their order while the object is evicted, and opens again', async () => {
  const stub = objects.env.Counter.getByName('a');
  for (let round = 0; round < 3; round++) {
    await stub.add(-1);
    arrived = [];
    const evicted = evictDurableObject(stub);
    await callInTurns((n) => stub.add(n));
    await evicted;
    expect(arrived).toEqual(CALLS);
  }
});
