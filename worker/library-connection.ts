// The host behind what object code imports: one in a realm, connected when it starts.

import type { ObjectCaller } from '../src/objects/object-stub.ts';

/** What a host tells the library. */
export interface Connection {
  /** Calls objects for whichever object's code is running. */
  readonly caller: ObjectCaller;
  readonly env: object;
  readonly exports: object;
  /** Keeps the object whose code is running in memory until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

let connection: Connection | undefined;

/** Called by the host, once. */
export function connectLibrary(host: Connection): void {
  connection = host;
}

/** Undefined until a host has started. */
export function connected(): Connection | undefined {
  return connection;
}
