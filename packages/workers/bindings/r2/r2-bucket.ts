// The R2 bucket that the worker's code calls as `env.FILES`. Its limits and error messages equal those of R2.

import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { convertToInt32, decodeCursor, encodeCursor } from '../arguments.ts';
import { cancelValue, checkedValue, VALUE_TYPE } from './put-value.ts';
import {
  checkCustomMetadata,
  checkObjectKey,
  checksumsOf,
  conditionOf,
  customMetadataOf,
  httpMetadataOf,
  listTextOf,
  optionsOf,
  rangeOf,
  wrongParameter,
} from './r2-arguments.ts';
import type { BucketEntry, R2BucketObject } from './r2-bucket-object.ts';
import { r2Error } from './r2-error.ts';
import { R2MultipartUpload, type StubFactory } from './r2-multipart-upload.ts';
import { GetResult, HeadResult } from './r2-object.ts';

const LISTED_MAX = 1000;
const LISTED_WITH_METADATA_MAX = 100;

const INCLUDABLE_FIELDS: ReadonlySet<unknown> = new Set(['httpMetadata', 'customMetadata']);

interface ListResult {
  readonly objects: readonly HeadResult[];
  readonly truncated: boolean;
  /** The argument with which the next call continues this list; undefined if the list is complete. */
  readonly cursor: string | undefined;
  readonly delimitedPrefixes: readonly string[];
}

export class R2Bucket {
  readonly #stub: StubFactory;

  constructor(objects: DurableObjectNamespace<R2BucketObject>, name: string) {
    const id = objects.idFromName(name);
    this.#stub = () => objects.get(id);
  }

  async head(...given: [key?: unknown]): Promise<HeadResult | null> {
    const key = keyOf('head', given);
    const found = await this.#stub().head(checkObjectKey('head', key));
    return found && new HeadResult(found, { offset: 0, length: found.size });
  }

  /** Returns the object, without its body if the condition is not met, or null if there is none. */
  async get(...given: [key?: unknown, options?: unknown]): Promise<HeadResult | null> {
    const key = keyOf('get', given);
    const options = optionsOf('R2Bucket.get', 2, 'GetOptions', given[1]);
    const request = { onlyIf: conditionOf(options), range: rangeOf(options) };
    const found = await this.#stub().get(checkObjectKey('get', key), request);
    if (found === null) return null;
    const { object, range, body } = found;
    if (body === null) return new HeadResult(object, range);
    const response = body instanceof Uint8Array ? new Response(body.slice()) : body;
    return new GetResult(object, range, response as Response);
  }

  /** Stores the value. Returns null if the condition is not met. */
  async put(
    ...given: [key?: unknown, value?: unknown, options?: unknown]
  ): Promise<HeadResult | null> {
    const key = keyOf('put', given);
    if (given.length < 2) throw wrongParameter('R2Bucket.put', 2, VALUE_TYPE);
    const [, value] = given;
    try {
      const options = optionsOf('R2Bucket.put', 3, 'PutOptions', given[2]);
      const metadata = metadataOf(checkObjectKey('put', key), options);
      checkCustomMetadata(customMetadataOf(options));
      const stored = await this.#stub().put({
        ...metadata,
        onlyIf: conditionOf(options),
        checksums: checksumsOf(options),
        ...checkedValue('put', 'R2Bucket.put', value ?? ''),
      });
      return stored && new HeadResult(stored);
    } catch (error) {
      cancelValue(value);
      throw error;
    }
  }

  async delete(...given: [keys?: unknown]): Promise<void> {
    if (given.length === 0) throw wrongParameter('R2Bucket.delete', 1, 'string or Array');
    const keys = Array.isArray(given[0]) ? given[0] : given;
    await this.#stub().delete(keys.map((key) => checkObjectKey('delete', String(key))));
  }

  /** Lists objects in the order of the bytes of their keys. */
  async list(...given: [options?: unknown]): Promise<ListResult> {
    const options = optionsOf('R2Bucket.list', 1, 'ListOptions', given[0]);
    const include = includedIn(options.include);
    const limit = limitOf(options.limit);
    const startAfter = listTextOf(options, 'startAfter');
    const cursor = listTextOf(options, 'cursor');
    const { objects, delimitedPrefixes, last } = await this.#stub().list({
      prefix: listTextOf(options, 'prefix') ?? '',
      delimiter: listTextOf(options, 'delimiter') ?? '',
      after: cursor === undefined ? startAfter : laterKey(decodeCursor(cursor), startAfter),
      limit: include.size > 0 ? Math.min(limit, LISTED_WITH_METADATA_MAX) : limit,
    });
    const withIncludedMetadata = (stored: BucketEntry) =>
      new HeadResult({
        ...stored,
        httpMetadata: include.has('httpMetadata') ? stored.httpMetadata : '{}',
        customMetadata: include.has('customMetadata') ? stored.customMetadata : '{}',
      });
    return {
      objects: objects.map(withIncludedMetadata),
      truncated: last !== undefined,
      cursor: last === undefined ? undefined : encodeCursor(last),
      delimitedPrefixes,
    };
  }

  async createMultipartUpload(
    ...given: [key?: unknown, options?: unknown]
  ): Promise<R2MultipartUpload> {
    const operation = 'createMultipartUpload';
    const key = keyOf(operation, given);
    const options = optionsOf(`R2Bucket.${operation}`, 2, 'MultipartOptions', given[1]);
    const metadata = metadataOf(checkObjectKey(operation, key), options);
    return new R2MultipartUpload(this.#stub, key, await this.#stub().createUpload(metadata));
  }

  /** Returns a handle of an upload without looking for it: its methods fail if there is no such upload. */
  resumeMultipartUpload(...given: [key?: unknown, uploadId?: unknown]): R2MultipartUpload {
    const key = keyOf('resumeMultipartUpload', given);
    if (given.length > 1) return new R2MultipartUpload(this.#stub, key, String(given[1]));
    throw wrongParameter('R2Bucket.resumeMultipartUpload', 2, 'string');
  }

  get [Symbol.toStringTag](): string {
    return 'R2Bucket';
  }
}

/** Returns the first argument of a call as text. @throws TypeError if it is missing */
function keyOf(method: string, given: readonly unknown[]): string {
  if (given.length > 0) return String(given[0]);
  throw wrongParameter(`R2Bucket.${method}`, 1, 'string');
}

/** Returns the metadata of a put as they are stored. @throws TypeError if one has the wrong type */
function metadataOf(key: string, options: Parameters<typeof httpMetadataOf>[0]) {
  return {
    key,
    httpMetadata: JSON.stringify(httpMetadataOf(options)),
    customMetadata: JSON.stringify(customMetadataOf(options)),
  };
}

/** Reads the option `include` of a list. @throws TypeError if it is not an array; RangeError for an unknown field */
function includedIn(given: unknown): ReadonlySet<unknown> {
  if (given === undefined) return new Set();
  if (!Array.isArray(given)) {
    throw new TypeError(
      "Incorrect type for the 'include' field on 'ListOptions': the provided value is not of type 'Array'.",
    );
  }
  const unknown = given.find((field) => !INCLUDABLE_FIELDS.has(field));
  if (unknown === undefined) return new Set(given);
  throw new RangeError(`Unsupported include value ${unknown}`);
}

/** Reads the option `limit` of a list. @throws Error if it is not from 1 to 1,000 */
function limitOf(given: unknown): number {
  const limit = given === undefined ? -1 : convertToInt32(given);
  if (limit === -1) return LISTED_MAX; // R2's protocol writes -1 for no limit
  if (limit >= 1 && limit <= LISTED_MAX) return limit;
  throw r2Error('list', 10022);
}

function laterKey(key: string, other: string | undefined): string {
  return other === undefined || key > other ? key : other;
}

// The class keeps the name that programs see, even if a minifier renames it.
Object.defineProperty(R2Bucket, 'name', { value: 'R2Bucket' });
