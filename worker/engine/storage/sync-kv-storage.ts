// Implements `ctx.storage.kv`: synchronous access to the keys and values of `ctx.storage`, one key per call.
//
// Unlike the asynchronous `put`, it can store an explicit undefined.

import { checkArgumentCount, convertKey } from '../../../src/shared/contract/arguments.ts';
import { convertListOptions } from '../../../src/shared/contract/list-options.ts';
import { decodeValue, encodeValue } from '../../../src/shared/values/value.ts';
import type { EntryCursor } from '../kv/kv-store.ts';
import { checkConstructor, type INTERNAL, illegalInvocation } from '../sql/platform-class.ts';
import type { ObjectStorage } from './object-storage.ts';
import { wrongBackend } from './storage-methods.ts';

export class SyncKvStorage {
  /** The storage; undefined on the key-value backend, where the methods throw. */
  readonly #storage: ObjectStorage | undefined;

  constructor(token: typeof INTERNAL, storage: ObjectStorage | undefined) {
    checkConstructor('SyncKvStorage', token);
    this.#storage = storage;
  }

  get(...args: unknown[]): unknown {
    const storage = SyncKvStorage.#of(this);
    checkArgumentCount('kv.get', args.length, 1);
    return storage.get(convertKey('kv.get', args[0]), decodeValue);
  }

  put(...args: unknown[]): void {
    const storage = SyncKvStorage.#of(this);
    checkArgumentCount('kv.put', args.length, 2);
    const key = convertKey('kv.put', args[0]);
    storage.put([[key, encodeValue('kv.put', key, args[1])]]);
  }

  delete(...args: unknown[]): boolean {
    const storage = SyncKvStorage.#of(this);
    checkArgumentCount('kv.delete', args.length, 1);
    return storage.delete([convertKey('kv.delete', args[0])]) === 1;
  }

  list(options?: unknown): ListIterator {
    const storage = SyncKvStorage.#of(this);
    return new ListIterator(storage.list(convertListOptions('kv.list', options)));
  }

  get [Symbol.toStringTag](): string {
    return 'SyncKvStorage';
  }

  static #of(self: SyncKvStorage): ObjectStorage {
    if (self === null || typeof self !== 'object' || !(#storage in self)) {
      throw illegalInvocation('SyncKvStorage');
    }
    const storage = self.#storage;
    if (storage === undefined) throw wrongBackend('kv');
    return storage;
  }
}

/** The result of kv.list; it reads each entry on demand. */
export class ListIterator {
  readonly #cursor: EntryCursor;

  constructor(cursor: EntryCursor) {
    this.#cursor = cursor;
  }

  next(): IteratorResult<[string, unknown], undefined> {
    const entry = this.#cursor.next();
    if (entry === undefined) return { done: true, value: undefined };
    return { done: false, value: [entry.key, decodeValue(entry.value)] };
  }

  [Symbol.iterator](): this {
    return this;
  }

  get [Symbol.toStringTag](): string {
    return 'ListIterator';
  }
}

// Inherits the language's iterator helpers if they exist. The global Iterator class is missing in
// some supported engines.
Object.setPrototypeOf(
  ListIterator.prototype,
  Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())),
);
