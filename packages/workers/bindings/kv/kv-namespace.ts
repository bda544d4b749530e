// A KV namespace as code in the worker has it. Arguments, limits and messages are those of Workers KV.

import type { DurableObjectNamespace, DurableObjectStub } from '@ctx-storage/core/object';
import { cursorOf, keyOfCursor } from '../arguments.ts';
import {
  checkCacheTtl,
  checkKey,
  checkKeys,
  convertLimit,
  convertType,
  convertValue,
  expirationOf,
  type KvPutOptions,
  type KvReadOptions,
  kvError,
  metadataOf,
} from './kv-arguments.ts';
import type { KvObject, StoredValue } from './kv-object.ts';

/** A value with its metadata. */
interface WithMetadata {
  readonly value: unknown;
  readonly metadata: unknown;
  readonly cacheStatus: null;
}

interface ListOptions {
  readonly prefix?: string | null;
  readonly limit?: number | null;
  readonly cursor?: string | null;
}

interface ListResult {
  readonly keys: readonly { name: string; expiration?: number; metadata?: unknown }[];
  readonly list_complete: boolean;
  /** Where the next list begins; absent when this one was complete. */
  readonly cursor?: string;
  readonly cacheStatus: null;
}

export class KvNamespace {
  readonly #objects: DurableObjectNamespace<KvObject>;
  readonly #id: DurableObjectStub['id'];

  constructor(objects: DurableObjectNamespace<KvObject>, name: string) {
    this.#objects = objects;
    this.#id = objects.idFromName(name);
  }

  /** The value, by default as text, or null; for an array of keys a Map. */
  async get(key: unknown, options?: KvReadOptions): Promise<unknown> {
    if (Array.isArray(key)) return this.#readAll(key, options, ({ value }) => value);
    return ((await this.getWithMetadata(key, options)) as WithMetadata).value;
  }

  /** The same with its metadata, which is null if it has none. */
  async getWithMetadata(key: unknown, options?: KvReadOptions): Promise<unknown> {
    if (Array.isArray(key)) {
      return this.#readAll(key, options, ({ value, metadata }) => ({ value, metadata }));
    }
    const type = convertType(options);
    const name = checkKey('GET', key);
    checkCacheTtl('GET', options);
    const [stored] = await this.#stub.read([name]);
    if (!stored) return { value: null, metadata: null, cacheStatus: null };
    return { value: valueIn(stored, type), metadata: parsed(stored.metadata), cacheStatus: null };
  }

  async put(...parameters: [key: unknown, value?: unknown, options?: KvPutOptions]): Promise<void> {
    const [key, value, options] = parameters;
    const name = checkKey('PUT', key);
    const expiration = expirationOf(options, Date.now() / 1000);
    const metadata = metadataOf(options);
    await this.#stub.write({ key: name, bytes: await convertValue(value), expiration, metadata });
  }

  async delete(key: unknown): Promise<void> {
    await this.#stub.remove(checkKey('DELETE', key));
  }

  /** Keys in the order of their bytes. */
  async list(options?: ListOptions | null): Promise<ListResult> {
    const { cursor, prefix } = options ?? {};
    const limit = convertLimit(options?.limit);
    const start = checkKeys('GET', String(prefix ?? ''));
    const after = cursor ? keyOfCursor(String(cursor)) : '';
    const found = await this.#stub.list(start, after, limit + 1);
    const keys = found.slice(0, limit).map(({ name, expiration, metadata }) => ({
      name,
      ...(expiration !== null && { expiration }),
      ...(metadata !== null && { metadata: parsed(metadata) }),
    }));
    if (found.length <= limit) return { keys, list_complete: true, cacheStatus: null };
    const last = keys.at(-1)!.name;
    return { keys, list_complete: false, cursor: cursorOf(last), cacheStatus: null };
  }

  get [Symbol.toStringTag](): string {
    return 'KvNamespace';
  }

  /** A new one each time: a stub ends with the instance that it has reached. */
  get #stub() {
    return this.#objects.get(this.#id);
  }

  async #readAll(
    keys: readonly unknown[],
    options: KvReadOptions,
    pick: (found: { readonly value: unknown; readonly metadata: unknown }) => unknown,
  ): Promise<Map<string, unknown>> {
    const { length } = keys;
    if (length > 100) throw kvError('GET_BULK', 400, 'You can request a maximum of 100 keys');
    if (length === 0) throw kvError('GET_BULK', 400, 'You must request a minimum of 1 key');
    const type = convertType(options);
    if (type !== 'text' && type !== 'json') {
      throw kvError('GET_BULK', 400, `"${type}" is not a valid type. Use "json" or "text"`);
    }
    const names = [...new Set(keys.map((key) => checkKey('GET_BULK', key)))];
    checkCacheTtl('GET_BULK', options);
    const found = await this.#stub.read(names);
    const read = (stored: StoredValue): unknown => {
      try {
        return valueIn(stored, type);
      } catch {
        const fact = 'At least one of the requested keys corresponds to a non-json value';
        throw kvError('GET_BULK', 400, fact);
      }
    };
    return new Map(
      names.map((name, i) => {
        const stored = found[i];
        if (!stored) return [name, null];
        return [name, pick({ value: read(stored), metadata: parsed(stored.metadata) })];
      }),
    );
  }
}

/** @throws SyntaxError for text that is not JSON */
function valueIn({ bytes }: StoredValue, type: string): unknown {
  switch (type) {
    case 'arrayBuffer':
      return bytes.slice().buffer;
    case 'stream':
      return new Response(bytes.slice()).body;
    case 'json':
      return JSON.parse(new TextDecoder().decode(bytes));
    default:
      return new TextDecoder().decode(bytes);
  }
}

function parsed(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}
