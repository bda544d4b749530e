// Finds the host that serves the imports of object code (`env`, `exports`, `waitUntil`). Code of an object gets the host
// of that object. Code that belongs to no object gets the most recently started host that still runs.

import { currentContext } from '../../../src/shared/calls/io/current-context.ts';
import type { IoHost } from '../../../src/shared/calls/io/io-context.ts';
import type { ObjectCaller } from '../../../src/shared/calls/stubs/stub.ts';

/** The parts of a host that the library uses. */
export interface HostBindings {
  /** Makes calls on behalf of the object whose code is running. */
  readonly caller: ObjectCaller;
  readonly env: object;
  readonly exports: object;
  /** Keeps the running object in memory until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

const running = new Map<IoHost, HostBindings>();

/** Registers a host that starts. Call the result when the host ends. */
export function registerRunningHost(host: IoHost, bindings: HostBindings): () => void {
  running.set(host, bindings);
  return () => void running.delete(host);
}

/** Returns the bindings of the running code's host; undefined while no host runs. */
export function runningHostBindings(): HostBindings | undefined {
  const host = currentContext()?.host;
  const own = host && running.get(host);
  return own ?? [...running.values()].at(-1);
}
