// The functions that tests of the real runtime call, with the same names. Where the runtime takes a stub, these take
// the storage of an object, which names the object and can call it.

import { storageError } from '@ctx-storage/core/errors';
import { runAsStep } from './steps.ts';
import type { TestObjects } from './test-objects.ts';
import { TestStorage } from './test-storage.ts';

/** The methods of an object's class. Each call goes to the app's worker. */
export type RemoteInstance = Record<string, (...parameters: unknown[]) => Promise<unknown>>;

/** The counterpart of `ctx`. */
export interface RemoteState {
  readonly storage: TestStorage;
}

/**
 * Runs the callback in the test's process, with the methods of the object and its storage. Unlike on the real runtime,
 * this is not one event of the object: other events may run between two calls.
 */
export async function runInDurableObject<T>(
  storage: TestStorage,
  callback: (instance: RemoteInstance, state: RemoteState) => T | Promise<T>,
): Promise<T> {
  const checked = mustBeStorage('runInDurableObject', storage);
  const instance = new Proxy({} as RemoteInstance, {
    get: (_, name) =>
      typeof name === 'symbol' || name === 'then'
        ? undefined
        : (...parameters: unknown[]) => checked.call(name, ...parameters),
  });
  return await runAsStep(`${checked}: runInDurableObject`, async () =>
    callback(instance, { storage: checked }),
  );
}

/** Runs the alarm's handler now, and removes the alarm. Returns false if none is set. */
export async function runDurableObjectAlarm(storage: TestStorage): Promise<boolean> {
  return await mustBeStorage('runDurableObjectAlarm', storage).runAlarm();
}

/** Ends the object's instance in order. The next call constructs it again. */
export async function evictDurableObject(storage: TestStorage): Promise<void> {
  await mustBeStorage('evictDurableObject', storage).evict();
}

/** Returns the ids of the existing objects of a class. */
export async function listDurableObjectIds(
  objects: TestObjects,
  className: string,
): Promise<string[]> {
  return (await objects.list(className)).map(({ id }) => id);
}

/** Deletes all objects. */
export async function reset(objects: TestObjects): Promise<void> {
  await objects.reset();
}

function mustBeStorage(operation: string, given: unknown): TestStorage {
  if (given instanceof TestStorage) return given;
  throw storageError(
    'INVALID_ARGUMENT',
    `${operation}: takes the storage of an object, as objects.storage('Room', 'lobby') gives it.`,
  );
}
