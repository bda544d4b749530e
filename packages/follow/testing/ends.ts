// For tests: the hosts and servers that a test has opened end after it, the last one first.

import { afterEach } from 'vitest';

/** Called once by a file of tests. Each function of the list runs after the test that has added it. */
export function endsOfTests(): (() => Promise<void>)[] {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  return ends;
}
