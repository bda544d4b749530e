// Implements the functions of Cloudflare's test tools (`runInDurableObject` and others), for objects in this process.
//
// Functions that take a stub concern its host. The others concern all running hosts.

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

/** The running hosts, by the caller of their stubs, and by the default entry point of their `Objects`. */
const hostsByKey = new WeakMap<object, RunningHost>();
const running = new Set<RunningHost>();

/**
 * Registers a host for the functions below. Call the returned function when the host ends. `keys` are those of
 * `hostsByKey`.
 */
export function registerTools(home: RunningHost, keys: readonly object[]): () => void {
  for (const key of keys) hostsByKey.set(key, home);
  running.add(home);
  return () => void running.delete(home);
}

/** Returns the host behind the result of `createObjects`. */
export function hostOf({ worker }: Pick<Objects<ClassTable>, 'worker'>): RunningHost {
  return hostsByKey.get(worker)!;
}

/**
 * Runs the callback inside the object, as one event, with the instance and its `ctx`. The result is not cloned.
 *
 * @throws INVALID_ARGUMENT if `stub` is not the stub of an object in this process
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
 * Runs the alarm handler now and removes the alarm. Returns false if no alarm is set. If the handler fails, this rejects,
 * and the handler is not run again.
 */
export async function runDurableObjectAlarm(stub: DurableObjectStub): Promise<boolean> {
  const { home, address } = placeOf('runDurableObjectAlarm', stub);
  return await home.host.outside.send(() => home.manager.runAlarm(address));
}

/** Options of the eviction of objects. */
export interface EvictionOptions {
  /** `close` also closes the object's sockets. @default 'hibernate' */
  readonly webSockets?: 'close' | 'hibernate';
}

/** Evicts the object's instance after its writes are durable. The next call constructs a new instance. */
export async function evictDurableObject(
  stub: DurableObjectStub,
  options?: EvictionOptions,
): Promise<void> {
  const { home, address } = placeOf('evictDurableObject', stub);
  const breaksSockets = breaksSocketsBy('evictDurableObject', options);
  await home.host.outside.send(() => home.manager.evict(address, breaksSockets));
}

/** Evicts the instances of all objects in this process. */
export async function evictAllDurableObjects(options?: EvictionOptions): Promise<void> {
  const breaksSockets = breaksSocketsBy('evictAllDurableObjects', options);
  for (const { host, manager } of running) {
    await host.outside.send(() => manager.evictAll(breaksSockets));
  }
}

/** Resets the instances of all objects in this process. Stored data stays. */
export async function abortAllDurableObjects(): Promise<void> {
  for (const { host, manager } of running) await host.outside.send(() => manager.abortAll());
}

/** Lists the ids of the namespace's objects that exist. @throws INVALID_ARGUMENT */
export async function listDurableObjectIds(namespace: object): Promise<DurableObjectId[]> {
  const className = namespaceClass(namespace);
  const home = className === undefined ? undefined : hostBehind(namespace);
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
  const home = typeof stub === 'object' && stub !== null ? hostBehind(stub) : undefined;
  const address = home && addressOf(stub);
  if (home !== undefined && address !== undefined && 'id' in address) {
    return { home, address: fromWireAddress(address) };
  }
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes the stub of an object in this process, such as objects.env.Room.getByName('lobby').`,
  );
}

/** Returns the host behind a stub or namespace. */
function hostBehind(value: object): RunningHost | undefined {
  const caller = callerOf(value);
  // A stub from a provided `env` belongs to the most recently started host, which also answers its calls.
  if (caller === runningHost) return [...running].at(-1);
  const home = caller && hostsByKey.get(caller);
  return home && running.has(home) ? home : undefined;
}
