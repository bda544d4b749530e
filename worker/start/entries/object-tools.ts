// The functions that tests of the real runtime call, by the same names, for objects in this process.
//
// A stub knows its host; reset() concerns every host that runs.

import { addressOf, callerOf } from '../../../src/shared/calls/stubs/known-stubs.ts';
import { fromWireAddress } from '../../../src/shared/calls/stubs/wire-address.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type {
  DurableObjectId,
  DurableObjectState,
  DurableObjectStub,
} from '../../../src/shared/contract/object.ts';
import type { ObjectAddress } from '../../../src/shared/contract/object-id.ts';
import type { ObjectHost } from '../../objects/host/object-host.ts';
import type { ObjectManager } from '../../objects/host/object-manager.ts';

/** The host behind an `env`. */
interface Home {
  readonly host: ObjectHost;
  readonly manager: ObjectManager;
  readonly env: object;
}

/** By the caller of its stubs. */
const homes = new WeakMap<object, Home>();
const running = new Set<Home>();

/** Makes the host known to the functions below; the result ends that. */
export function registerTools(home: Home, caller: object): () => void {
  homes.set(caller, home);
  running.add(home);
  return () => void running.delete(home);
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

/** Ends the object's instance in order: the next call constructs it again. */
export async function evictDurableObject(stub: DurableObjectStub): Promise<void> {
  const { home, address } = placeOf('evictDurableObject', stub);
  await home.host.outside.send(() => home.manager.evict(address));
}

/** The ids of the objects of a namespace that exist. @throws INVALID_ARGUMENT */
export async function listDurableObjectIds(namespace: object): Promise<DurableObjectId[]> {
  for (const home of running) {
    const [name] = Object.entries(home.env).find(([, value]) => value === namespace) ?? [];
    if (name === undefined) continue;
    const className = home.host.classes.bindings.get(name) ?? name;
    const found = await home.host.outside.send(() => home.manager.list(className));
    return found.map(({ address }) => address.id);
  }
  throw storageError(
    'INVALID_ARGUMENT',
    'listDurableObjectIds: takes a namespace, such as objects.env.Room, of objects that are not closed.',
  );
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

function placeOf(
  operation: string,
  stub: object,
): { readonly home: Home; readonly address: ObjectAddress } {
  const caller = typeof stub === 'object' && stub !== null ? callerOf(stub) : undefined;
  const home = caller && homes.get(caller);
  const address = home && addressOf(stub);
  if (home !== undefined && address !== undefined && 'id' in address) {
    return { home, address: fromWireAddress(address) };
  }
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes the stub of an object in this process, such as objects.env.Room.getByName('lobby').`,
  );
}
