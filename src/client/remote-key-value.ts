// The key-value methods of a page: arguments converted and values serialized inside the call, so
// that a wrong argument is a rejection and nothing is sent, and a later change is not stored.
//
// One implementation for a handle and for the `txn` of a transaction; they differ in what their
// calls are part of.

import {
  checkArgumentCount,
  convertAlarmTime,
  convertEntries,
  convertKey,
  convertKeys,
  convertListOptions,
  convertOptions,
  convertReadOptions,
  convertWriteOptions,
  isEntries,
} from '../contract/arguments.ts';
import { storageError } from '../contract/errors.ts';
import { compareKeys } from '../contract/key-order.ts';
import type {
  AlarmReadOptions,
  AlarmWriteOptions,
  KeyValueOperations,
  ListOptions,
  ReadOptions,
  WriteOptions,
} from '../contract/storage.ts';
import { decodeValue, encodeValue } from '../contract/value.ts';
import type { Call, Results, ValueBytes } from '../rpc/protocol.ts';

/** Makes a call; a session's, or a transaction's. */
export type SendCall = <C extends Call>(call: C) => Promise<Results[C['op']]>;

export class RemoteKeyValue implements KeyValueOperations {
  readonly #send: SendCall;

  constructor(send: SendCall) {
    this.#send = send;
  }

  get<T = unknown>(key: string, options?: ReadOptions): Promise<T | undefined>;
  get<T = unknown>(keys: string[], options?: ReadOptions): Promise<Map<string, T>>;
  async get(...args: unknown[]): Promise<unknown> {
    checkArgumentCount('get', args.length, 1);
    const keys = convertKeys('get', args[0]);
    convertReadOptions('get', args[1]);
    if (keys.kind === 'one') {
      const [bytes] = await this.#send({ op: 'get', keys: [keys.key] });
      return bytes ? decodeValue(bytes) : undefined;
    }
    const sorted = [...new Set(keys.keys)].sort(compareKeys);
    const values = await this.#send({ op: 'get', keys: sorted });
    const found = new Map<string, unknown>();
    for (const [i, key] of sorted.entries()) {
      const bytes = values[i];
      if (bytes) found.set(key, decodeValue(bytes));
    }
    return found;
  }

  put<T>(key: string, value: T, options?: WriteOptions): Promise<void>;
  put<T>(entries: Record<string, T>, options?: WriteOptions): Promise<void>;
  async put(...args: unknown[]): Promise<void> {
    checkArgumentCount('put', args.length, 1);
    if (isEntries(args[0])) {
      const unconfirmed = isUnconfirmed('put', args[1]);
      if (args[2] !== undefined) convertOptions('put', args[2]);
      const entries = convertEntries('put', args[0]).map(encodeEntry);
      await this.#send({ op: 'put', entries, unconfirmed });
      return;
    }
    const key = convertKey('put', args[0]);
    const unconfirmed = isUnconfirmed('put', args[2]);
    if (args[1] === undefined) {
      throw storageError(
        'INVALID_ARGUMENT',
        'put: the value is undefined; store null, or delete the key.',
      );
    }
    await this.#send({ op: 'put', entries: [encodeEntry([key, args[1]])], unconfirmed });
  }

  delete(key: string, options?: WriteOptions): Promise<boolean>;
  delete(keys: string[], options?: WriteOptions): Promise<number>;
  async delete(...args: unknown[]): Promise<unknown> {
    checkArgumentCount('delete', args.length, 1);
    const keys = convertKeys('delete', args[0]);
    const unconfirmed = isUnconfirmed('delete', args[1]);
    if (keys.kind === 'many') {
      return this.#send({ op: 'delete', keys: keys.keys, unconfirmed });
    }
    return (await this.#send({ op: 'delete', keys: [keys.key], unconfirmed })) === 1;
  }

  async list<T = unknown>(options?: ListOptions): Promise<Map<string, T>> {
    const range = convertListOptions('list', options);
    const entries = await this.#send({ op: 'list', range });
    return new Map(entries.map(([key, bytes]) => [key, decodeValue(bytes) as T]));
  }

  async getAlarm(options?: AlarmReadOptions): Promise<number | null> {
    convertReadOptions('getAlarm', options);
    return this.#send({ op: 'getAlarm' });
  }

  setAlarm(scheduledTime: number | Date, options?: AlarmWriteOptions): Promise<void>;
  async setAlarm(...args: unknown[]): Promise<void> {
    checkArgumentCount('setAlarm', args.length, 1);
    const timeMs = convertAlarmTime('setAlarm', args[0]);
    await this.#send({ op: 'setAlarm', timeMs, unconfirmed: isUnconfirmed('setAlarm', args[1]) });
  }

  async deleteAlarm(options?: AlarmWriteOptions): Promise<void> {
    await this.#send({ op: 'deleteAlarm', unconfirmed: isUnconfirmed('deleteAlarm', options) });
  }
}

function isUnconfirmed(operation: string, options: unknown): boolean {
  return convertWriteOptions(operation, options).allowUnconfirmed;
}

function encodeEntry([key, value]: readonly [string, unknown]): readonly [string, ValueBytes] {
  return [key, encodeValue('put', key, value)];
}
