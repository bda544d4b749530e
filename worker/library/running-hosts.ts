// The hosts behind what object code imports. Each connects when it starts, and is asked by the code
// of its own objects; code that belongs to no object meets the one that started last and still runs.

import { currentContext } from '../../src/io/current-context.ts';
import type { IoHost } from '../../src/io/io-context.ts';
import type { ObjectCaller } from '../../src/stubs/stub.ts';

/** What a host tells the library. */
export interface Connection {
  /** Calls objects for whichever object's code is running. */
  readonly caller: ObjectCaller;
  readonly env: object;
  readonly exports: object;
  /** Keeps the object whose code is running in memory until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

const connections = new Map<IoHost, Connection>();

/** Called by a host that starts; the result is for its end. */
export function connectLibrary(host: IoHost, connection: Connection): () => void {
  connections.set(host, connection);
  return () => void connections.delete(host);
}

/** Undefined while no host runs. */
export function connected(): Connection | undefined {
  const host = currentContext()?.host;
  const own = host && connections.get(host);
  return own ?? [...connections.values()].at(-1);
}
