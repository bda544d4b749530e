// Implements the key-value methods of a page: those of `ctx.storage` for handles and for `txn`, which the table of
// operations defines, and `kv`, whose methods take one key and no options, and whose list is read while it is iterated.
//
// `kv.list` reads pieces, each of which begins after the last key of the previous one. So nothing stays open in the worker,
// and starting another list does not end this one. Changes ahead of its position are seen, as in the worker.

import {
  checkArgumentCount,
  convertKey,
  type ValueBytes,
} from '../../shared/contract/arguments.ts';
import type { KeyRange } from '../../shared/contract/key-range.ts';
import { convertListOptions } from '../../shared/contract/list-options.ts';
import type {
  KeyValueOperations,
  RemoteKvStorage,
  SyncListOptions,
} from '../../shared/contract/storage.ts';
import { decodeValue, encodeValue } from '../../shared/values/value.ts';
import type { MethodName } from '../../shared/wire/operations.ts';
import type { RemoteBulk } from './remote-bulk.ts';
import { defineRemoteMethods, type MethodCalls } from './session.ts';

/** The number of entries in one piece of a list. */
export const LIST_ENTRIES = 256;

// The decoder writes this character for invalid text in a key.
const REPLACEMENT_CHARACTER = '\ufffd';

type Entry = [string, ValueBytes];

/** The methods of the table, which the static block defines. */
export interface RemoteKeyValue extends Pick<KeyValueOperations, MethodName<'transaction'>> {}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the static block defines these methods
export class RemoteKeyValue implements KeyValueOperations {
  readonly #calls: MethodCalls;

  constructor(calls: MethodCalls) {
    this.#calls = calls;
  }

  /** Prevents Vue from wrapping the object in a proxy, on which private members would not exist. */
  get [Symbol.toStringTag](): string {
    return 'RemoteStorage';
  }

  static {
    defineRemoteMethods(
      RemoteKeyValue.prototype,
      ['transaction'],
      (self: RemoteKeyValue) => self.#calls,
    );
  }
}

export class RemoteKv implements Omit<RemoteKvStorage, 'putMany'> {
  readonly #calls: MethodCalls;

  constructor(calls: MethodCalls) {
    this.#calls = calls;
  }

  get<T = unknown>(key: string): Promise<T | undefined>;
  async get(...args: unknown[]): Promise<unknown> {
    checkArgumentCount('kv.get', args.length, 1);
    const [bytes] = await this.#calls.call({ op: 'get', keys: [convertKey('kv.get', args[0])] });
    return bytes ? decodeValue(bytes) : undefined;
  }

  put<T>(key: string, value: T): Promise<void>;
  async put(...args: unknown[]): Promise<void> {
    checkArgumentCount('kv.put', args.length, 2);
    const key = convertKey('kv.put', args[0]);
    const entry = [key, encodeValue('kv.put', key, args[1])] as const;
    await this.#calls.call({ op: 'put', entries: [entry], unconfirmed: false });
  }

  delete(key: string): Promise<boolean>;
  async delete(...args: unknown[]): Promise<boolean> {
    checkArgumentCount('kv.delete', args.length, 1);
    const keys = [convertKey('kv.delete', args[0])];
    return (await this.#calls.call({ op: 'delete', keys, unconfirmed: false })) === 1;
  }

  list<T = unknown>(options?: SyncListOptions): AsyncIterableIterator<[string, T]> {
    // The options are read now. An error in them rejects the first `next()`.
    let first: () => AsyncGenerator<Entry[]>;
    try {
      const range = convertListOptions('kv.list', options);
      first = () => this.#pieces(range);
    } catch (error) {
      first = () => {
        throw error;
      };
    }
    return (async function* () {
      for await (const piece of first()) {
        for (const [key, bytes] of piece) yield [key, decodeValue(bytes) as T] as [string, T];
      }
    })();
  }

  async *#pieces(range: KeyRange): AsyncGenerator<Entry[]> {
    let rest: KeyRange = range;
    for (;;) {
      const limit = Math.min(rest.limit ?? LIST_ENTRIES, LIST_ENTRIES);
      const piece = await this.#calls.call({ op: 'list', range: { ...rest, limit } });
      const last = piece.at(-1)?.[0];
      const remaining = rest.limit === null ? null : rest.limit - piece.length;
      if (last === undefined || piece.length < limit || remaining === 0) {
        yield piece;
        return;
      }
      if (last.includes(REPLACEMENT_CHARACTER)) {
        // The stored key may differ from the decoded one, so the list cannot continue after it, and reads the rest at once.
        yield await this.#calls.call({ op: 'list', range: rest });
        return;
      }
      yield piece;
      rest = { ...rangeAfter(rest, last), limit: remaining };
    }
  }
}

/** Returns the part of a range after this key. */
function rangeAfter(range: KeyRange, key: string): KeyRange {
  const encoder = new TextEncoder();
  if (range.reverse) return { ...range, end: encoder.encode(key) };
  return { ...range, start: encoder.encode(`${key}\0`) };
}

/** Adds the key-value calls that only a handle has. */
export class RemoteBulkKv extends RemoteKv implements RemoteKvStorage {
  readonly #bulk: RemoteBulk;

  constructor(calls: MethodCalls, bulk: RemoteBulk) {
    super(calls);
    this.#bulk = bulk;
  }

  putMany(...args: unknown[]): Promise<number> {
    return this.#bulk.putMany(args);
  }
}
