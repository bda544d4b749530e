// Generates the methods of `ctx.storage` and `txn` in the worker from the table of operations. Values are serialized
// during the call, so later changes are not stored; each read deserializes a fresh copy.
//
// Failures reject the method's promise. As on workerd, two throw at once: `delete`, and a method that is called on
// another object.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { decodeValue } from '../../../src/shared/values/value.ts';
import {
  type AnyMethod,
  defineMethods,
  type MethodName,
  OPERATIONS,
} from '../../../src/shared/wire/operations.ts';
import type { ObjectStorage } from './object-storage.ts';
import { performerOf } from './perform.ts';

/** The objects whose methods are generated here. */
type WorkerOwner = 'transaction' | 'storage';

/**
 * Runs a method. The function calls `checkOpen` after converting the arguments, because their getters run the user's
 * code.
 */
type Run = (storage: ObjectStorage, args: readonly unknown[], checkOpen: () => void) => unknown;

/**
 * Defines the methods of the owners on a class. `storageOf` throws if `this` is another object; `checkOpen` throws the
 * method's error if the method must not run now.
 */
export function defineStorageMethods<Self>(
  prototype: object,
  owners: readonly WorkerOwner[],
  storageOf: (self: Self) => ObjectStorage,
  checkOpen: (self: Self, op: string) => void = () => {},
): void {
  defineMethods(prototype, owners, (op, method) => {
    const run = SPECIAL[op] ?? runnerOf(op, method);
    const throwsAtOnce = op === 'delete';
    return function (this: Self, ...args) {
      const storage = storageOf(this);
      try {
        checkOpen(this, op);
        return Promise.resolve(run(storage, args, () => checkOpen(this, op)));
      } catch (error) {
        if (throwsAtOnce) throw error;
        return Promise.reject(error);
      }
    };
  });
}

/** Refuses a member of the SQL backend. @throws WRONG_BACKEND */
export function checkSqlBackend(storage: ObjectStorage, member: string): void {
  if (storage.options.backend === 'kv') throw wrongBackend(member);
}

export function wrongBackend(member: string): Error {
  return storageError(
    'WRONG_BACKEND',
    `ctx.storage.${member}: only on the SQL backend; this class is on the key-value backend.`,
  );
}

/** Returns a function that converts the arguments and performs the operation. */
function runnerOf(op: MethodName<WorkerOwner>, method: AnyMethod): Run {
  const { needsSqlBackend, fields: fieldsOf, returns } = method;
  const perform = performerOf(op);
  return (storage, args, checkOpen) => {
    if (needsSqlBackend) checkSqlBackend(storage, op);
    const fields = fieldsOf(args);
    checkOpen();
    const result = perform(storage, fields as never);
    if (returns === undefined) return result;
    if (!(result instanceof Promise)) return returns(result, args, fields);
    return result.then((settled) => returns(settled, args, fields));
  };
}

const NO_KEYS = { start: new Uint8Array(), end: new Uint8Array(), reverse: false, limit: null };

// Methods that do not use the general performers: reads decode a value directly in SQLite's memory, without the copy
// that a page needs.
const SPECIAL: { readonly [Op in MethodName<WorkerOwner>]?: Run } = {
  get(storage, args, checkOpen) {
    const { keys } = OPERATIONS.get.method!.fields(args);
    checkOpen();
    if (!Array.isArray(args[0])) return storage.get(keys[0]!, decodeValue);
    if (keys.length === 0) storage.list(NO_KEYS); // `list` throws if the storage has ended.
    const found = new Map<string, unknown>();
    for (const key of keys) storage.get(key, (bytes) => found.set(key, decodeValue(bytes)));
    return found;
  },
  list(storage, args, checkOpen) {
    const { range } = OPERATIONS.list.method!.fields(args);
    checkOpen();
    const cursor = storage.list(range);
    const entries = new Map<string, unknown>();
    for (let entry = cursor.next(); entry !== undefined; entry = cursor.next()) {
      entries.set(entry.key, decodeValue(entry.value));
    }
    return entries;
  },
  // The method continues like I/O: in the event that called it, after waiting for the input gate. A failed flush resets
  // the object, so the promise never settles in code that is dead.
  sync(storage) {
    const durable = storage.durability();
    // As on workerd, a later write of the same turn settles before a sync that has nothing to wait for.
    if (durable === undefined) return Promise.resolve().then(() => {});
    const resume = storage.environment.continuation();
    return new Promise<void>((resolve) => {
      durable.then(
        () => resume(resolve),
        () => {},
      );
    });
  },
};
