// `kv` of a page: one key per call, no options, and a list that is read while it is iterated.
//
// The list is read in pieces, each of which begins after the last key of the previous one. So
// nothing stays open in the worker, and no other list ends it. Changes ahead of its position are
// seen, as in the worker.

import { checkArgumentCount, convertKey, convertListOptions } from '../contract/arguments.ts';
import type { KeyRange } from '../contract/key-range.ts';
import type { ValueBytes } from '../contract/operation-fields.ts';
import type { RemoteKvStorage, SyncListOptions } from '../contract/storage.ts';
import { decodeValue, encodeValue } from '../contract/value.ts';
import type { SendCall } from './remote-methods.ts';

/** Entries of one piece of a list. */
export const LIST_ENTRIES = 256;

// Replaces invalid text in a key that is read.
const REPLACEMENT_CHARACTER = '\ufffd';

type Entry = [string, ValueBytes];

export class RemoteKv implements RemoteKvStorage {
  readonly #send: SendCall;

  constructor(send: SendCall) {
    this.#send = send;
  }

  get<T = unknown>(key: string): Promise<T | undefined>;
  async get(...args: unknown[]): Promise<unknown> {
    checkArgumentCount('kv.get', args.length, 1);
    const [bytes] = await this.#send({ op: 'get', keys: [convertKey('kv.get', args[0])] });
    return bytes ? decodeValue(bytes) : undefined;
  }

  put<T>(key: string, value: T): Promise<void>;
  async put(...args: unknown[]): Promise<void> {
    checkArgumentCount('kv.put', args.length, 2);
    const key = convertKey('kv.put', args[0]);
    const entry = [key, encodeValue('kv.put', key, args[1])] as const;
    await this.#send({ op: 'put', entries: [entry], unconfirmed: false });
  }

  delete(key: string): Promise<boolean>;
  async delete(...args: unknown[]): Promise<boolean> {
    checkArgumentCount('kv.delete', args.length, 1);
    const keys = [convertKey('kv.delete', args[0])];
    return (await this.#send({ op: 'delete', keys, unconfirmed: false })) === 1;
  }

  list<T = unknown>(options?: SyncListOptions): AsyncIterableIterator<[string, T]> {
    // Options are read during the call; an error in them rejects the first step.
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
      const piece = await this.#send({ op: 'list', range: { ...rest, limit } });
      const last = piece.at(-1)?.[0];
      const remaining = rest.limit === null ? null : rest.limit - piece.length;
      if (last === undefined || piece.length < limit || remaining === 0) {
        yield piece;
        return;
      }
      if (last.includes(REPLACEMENT_CHARACTER)) {
        // The stored key may differ, so the list cannot continue after it: read the rest at once.
        yield await this.#send({ op: 'list', range: rest });
        return;
      }
      yield piece;
      rest = { ...after(rest, last), limit: remaining };
    }
  }
}

// The rest of a range after this key.
function after(range: KeyRange, key: string): KeyRange {
  const encoder = new TextEncoder();
  if (range.reverse) return { ...range, end: encoder.encode(key) };
  return { ...range, start: encoder.encode(`${key}\0`) };
}
