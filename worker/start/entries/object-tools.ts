// The functions that tests of the real runtime call, by the same names, for objects in this process.
//
// A stub knows its host; reset() concerns every host that runs.

import {
  addressOf,
  callerOf,
  namespaceClass,
} from '../../../src/shared/calls/stubs/known-stubs.ts';
import { fromWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type {
  DurableObjectId,
  DurableObjectState,
  DurableObjectStub,
} from '../../../src/shared/contract/object.ts';
import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import type { ClassTable } from '../../objects/instance/object-class.ts';
import { runningHost } from '../../realm/library/provided-env.ts';
import type { RunningHost } from '../boot/start-host.ts';

/** By the caller of its stubs, and by the default entry point that its `Objects` have. */
const homes = new WeakMap<object, RunningHost>();
const running = new Set<RunningHost>();

/** Makes the host known to the functions below; the result ends that. `keys`: see `homes`. */
export function registerTools(home: RunningHost, keys: readonly object[]): () => void {
  for (const key of keys) homes.set(key, home);
  running.add(home);
  return () => void running.delete(home);
}

/** The host of objects in this process. */
export function hostOf({ worker }: Pick<Objects<ClassTable>, 'worker'>): RunningHost {
  return homes.get(worker)!;
}

/**
 * Runs the callback inside the object, as one event of it, with the class's instance and its `ctx`. Its result is
 * passed as it is.
 *
 * @throws INVALID_ARGUMENT if it is not the stub of an object in this process
 */
export async function runInDurableObject<Instance extends object, T>(
  stub: DurableObjectStub,
  callback: (instance: Instance, state: DurableObjectState) => T | Promise<T>,
): Promise<T> {
  const { home, address } = placeOf('runInDurableObject', stub);
  if (typeof callback !== 'function') {
    throw storageError(
      'INVALID_ARGUMENT',
      `runInDurableObject: takes a function as its second argument, not ${typeof callback}.`,
    );
  }
  return await home.host.outside.send(() =>
    home.host.deliver(address, (instance) =>
      callback(instance.object as Instance, instance.state as unknown as DurableObjectState),
    ),
  );
}

/**
 * Runs the alarm's handler now and removes the alarm; false if none is set. A handler that fails rejects, and is not
 * tried again.
 */
export async function runDurableObjectAlarm(stub: DurableObjectStub): Promise<boolean> {
  const { home, address } = placeOf('runDurableObjectAlarm', stub);
  return await home.host.outside.send(() => home.manager.runAlarm(address));
}

/** How objects are evicted. */
export interface EvictionOptions {
  /** `close`: the sockets of the object end, too. @default 'hibernate' */
  readonly webSockets?: 'close' | 'hibernate';
}

/** Ends the object's instance in order: the next call constructs it again. */
export async function evictDurableObject(
  stub: DurableObjectStub,
  options?: EvictionOptions,
): Promise<void> {
  const { home, address } = placeOf('evictDurableObject', stub);
  const breaksSockets = breaksSocketsBy('evictDurableObject', options);
  await home.host.outside.send(() => home.manager.evict(address, breaksSockets));
}

/** The same for every object in this process that has an instance. */
export async function evictAllDurableObjects(options?: EvictionOptions): Promise<void> {
  const breaksSockets = breaksSocketsBy('evictAllDurableObjects', options);
  for (const { host, manager } of running) {
    await host.outside.send(() => manager.evictAll(breaksSockets));
  }
}

/** Resets every object in this process that has an instance. Stored data stays. */
export async function abortAllDurableObjects(): Promise<void> {
  for (const { host, manager } of running) await host.outside.send(() => manager.abortAll());
}

/** The ids of the objects of a namespace that exist. @throws INVALID_ARGUMENT */
export async function listDurableObjectIds(namespace: object): Promise<DurableObjectId[]> {
  const className = namespaceClass(namespace);
  const home = className === undefined ? undefined : homeOf(namespace);
  if (className === undefined || home === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'listDurableObjectIds: takes a namespace, such as objects.env.Room, of objects that are not closed.',
    );
  }
  const found = await home.host.outside.send(() => home.manager.list(className));
  return found.map(({ address }) => address.id);
}

/** Deletes all objects in this process. */
export async function reset(): Promise<void> {
  for (const { host, manager } of running) {
    for (const { name } of host.classes.all) {
      const found = await host.outside.send(() => manager.list(name));
      for (const { address } of found) await host.outside.send(() => manager.delete(address));
    }
  }
}

function breaksSocketsBy(operation: string, options: EvictionOptions = {}): boolean {
  const { webSockets = 'hibernate' } = options;
  if (webSockets === 'close' || webSockets === 'hibernate') return webSockets === 'close';
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: webSockets is 'close' or 'hibernate', not ${JSON.stringify(webSockets)}.`,
  );
}

function placeOf(
  operation: string,
  stub: object,
): { readonly home: RunningHost; readonly address: ObjectAddress } {
  const home = typeof stub === 'object' && stub !== null ? homeOf(stub) : undefined;
  const address = home && addressOf(stub);
  if (home !== undefined && address !== undefined && 'id' in address) {
    return { home, address: fromWireAddress(address) };
  }
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes the stub of an object in this process, such as objects.env.Room.getByName('lobby').`,
  );
}

/** The host behind a stub or namespace. */
function homeOf(value: object): RunningHost | undefined {
  const caller = callerOf(value);
  // Made from a provided `env`: the most recently started host answers it, as it does its calls.
  if (caller === runningHost) return [...running].at(-1);
  const home = caller && homes.get(caller);
  return home && running.has(home) ? home : undefined;
}
