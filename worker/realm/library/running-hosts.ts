// The hosts behind the imports of object code. A host registers when it starts and answers the code of
// its own objects. Code that belongs to no object gets the most recently started host that still runs.

import { currentContext } from '../../../src/shared/calls/io/current-context.ts';
import type { IoHost } from '../../../src/shared/calls/io/io-context.ts';
import type { ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';

/** The functions that a host offers to the library. */
export interface HostBindings {
  /** Calls objects for whichever object's code is running. */
  readonly caller: ObjectCaller;
  readonly env: object;
  readonly exports: object;
  /** Keeps the object whose code is running in memory until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

const running = new Map<IoHost, HostBindings>();

/** Registers a host that starts; the result removes it. */
export function registerRunningHost(host: IoHost, bindings: HostBindings): () => void {
  running.set(host, bindings);
  return () => void running.delete(host);
}

/** The bindings of the current object's host; undefined while no host runs. */
export function runningHostBindings(): HostBindings | undefined {
  const host = currentContext()?.host;
  const own = host && running.get(host);
  return own ?? [...running.values()].at(-1);
}
