// An origin that no other test uses, on a server that all tests use.
//
// Storage, locks and service workers belong to an origin, so tests that have one each may share a browser, whose
// start takes longer than most tests. Browsers resolve every name under `localhost` to this machine and treat it
// as secure (Secure Contexts, 3.1). All are one site, because Firefox starts processes for each site.

import type { Served } from './server.ts';

let count = 0;

/**
 * Returns the server at a new address of its own, which begins with the word. Names are unique in a run, also among its
 * processes.
 */
export function ownOrigin({ origin }: Served, word = 'test'): Served {
  count += 1;
  const address = new URL(origin);
  address.hostname = `${word}-${process.pid}-${count}.tests.localhost`;
  return { origin: address.origin };
}
