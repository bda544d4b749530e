// The KV namespace that the worker's code calls as `env.CACHE`. Its limits and error messages equal those of Workers
// KV.

import type { DurableObjectNamespace, DurableObjectStub } from '@ctx-storage/core/object';
import { decodeCursor, encodeCursor } from '../arguments.ts';
import {
  checkCacheTtl,
  checkKey,
  checkPrefix,
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

/** The result of `getWithMetadata` for one key. */
interface ValueWithMetadata {
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
  /** The argument with which the next call continues this list; absent if the list is complete. */
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

  /**
   * Returns the value, by default as text, or null if there is none. For an array of keys it returns a Map of values.
   */
  async get(key: unknown, options?: KvReadOptions): Promise<unknown> {
    if (Array.isArray(key)) return this.#readMany(key, options, ({ value }) => value);
    return ((await this.getWithMetadata(key, options)) as ValueWithMetadata).value;
  }

  /** Returns the value like `get`, together with its metadata, which is null if it has none. */
  async getWithMetadata(key: unknown, options?: KvReadOptions): Promise<unknown> {
    if (Array.isArray(key)) {
      return this.#readMany(key, options, ({ value, metadata }) => ({ value, metadata }));
    }
    const type = convertType(options);
    const name = checkKey('GET', key);
    checkCacheTtl('GET', options);
    const [stored] = await this.#stub.read([name]);
    if (!stored) return { value: null, metadata: null, cacheStatus: null };
    return {
      value: valueIn(stored, type),
      metadata: parseMetadata(stored.metadata),
      cacheStatus: null,
    };
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

  /** Lists keys in the order of their UTF-8 bytes. */
  async list(options?: ListOptions | null): Promise<ListResult> {
    const { cursor, prefix } = options ?? {};
    const limit = convertLimit(options?.limit);
    const start = checkPrefix('GET', String(prefix ?? ''));
    const after = cursor ? decodeCursor(String(cursor)) : '';
    const found = await this.#stub.list(start, after, limit + 1);
    const keys = found.slice(0, limit).map(({ name, expiration, metadata }) => ({
      name,
      ...(expiration !== null && { expiration }),
      ...(metadata !== null && { metadata: parseMetadata(metadata) }),
    }));
    if (found.length <= limit) return { keys, list_complete: true, cacheStatus: null };
    const last = keys.at(-1)!.name;
    return { keys, list_complete: false, cursor: encodeCursor(last), cacheStatus: null };
  }

  get [Symbol.toStringTag](): string {
    return 'KvNamespace';
  }

  /** Returns a new stub for each call, because a stub fails for good once the instance that it reached has ended. */
  get #stub() {
    return this.#objects.get(this.#id);
  }

  async #readMany(
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
        return [name, pick({ value: read(stored), metadata: parseMetadata(stored.metadata) })];
      }),
    );
  }
}

/**
 * Returns stored bytes in the type that the caller wants.
 *
 * @throws SyntaxError if the type is `json` and the text is not JSON
 */
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

function parseMetadata(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}
