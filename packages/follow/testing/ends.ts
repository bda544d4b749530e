// For tests: closes the hosts and servers that a test has opened, the last one first.

import { afterEach } from 'vitest';

/** Returns a list of functions that run after each test, the last one first. A file of tests calls this once. */
export function endsOfTests(): (() => Promise<void>)[] {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return ends;
}
