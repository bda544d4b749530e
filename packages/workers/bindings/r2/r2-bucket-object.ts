// The object that keeps the data of one R2 bucket: its stored objects, and the multipart uploads that are not
// completed.
//
// Invariant: a stored object is visible only as a whole, with the bytes of one put or one upload. The owner of its
// blobs is its version.

import { DurableObject } from '@ctx-storage/worker/realm';
import { bytesToHex } from '@noble/hashes/utils.js';
import { type BlobPart, Blobs } from './blobs.ts';
import { type Condition, isConditionMet } from './conditions.ts';
import { ALGORITHMS, type Algorithm, type Checksums } from './digests.ts';
import { type PutValue, ROW_BYTES } from './put-value.ts';
import { badDigest, r2Error } from './r2-error.ts';
import { type ByteRange, resolveRange, type WantedRange } from './ranges.ts';
import { type PublishedPart, randomId, type UploadMetadata, Uploads } from './uploads.ts';

/** A stored object without its bytes. */
export interface BucketEntry extends UploadMetadata {
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  /** The time of the put, in milliseconds since the epoch. */
  readonly uploaded: number;
  readonly checksums: Checksums;
}

export interface PutRequest extends UploadMetadata, PutValue {
  readonly checksums: Checksums;
  readonly onlyIf?: Condition | undefined;
}

export interface GetRequest {
  readonly range?: WantedRange | undefined;
  readonly onlyIf?: Condition | undefined;
}

export interface FoundObject {
  readonly object: BucketEntry;
  readonly range: ByteRange;
  /** The bytes if they fit into one row, else a response that streams them; null if the condition is not met. */
  readonly body: Uint8Array<ArrayBuffer> | Response | null;
}

export interface ListRequest {
  readonly prefix: string;
  readonly delimiter: string;
  /** The list begins after this key. */
  readonly after: string | undefined;
  readonly limit: number;
}

export interface ListedPage {
  readonly objects: readonly BucketEntry[];
  readonly delimitedPrefixes: readonly string[];
  /** The last key of the list, after which the next one begins; undefined if the list is complete. */
  readonly last: string | undefined;
}

type Row = Omit<{ [Name in keyof BucketEntry]: BucketEntry[Name] }, 'checksums'> & {
  checksums: string;
};

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS object(
    key TEXT PRIMARY KEY, version TEXT NOT NULL, size INTEGER NOT NULL, etag TEXT NOT NULL,
    uploaded INTEGER NOT NULL, checksums TEXT NOT NULL, httpMetadata TEXT NOT NULL,
    customMetadata TEXT NOT NULL)`;

export class R2BucketObject extends DurableObject {
  readonly #blobs: Blobs;
  readonly #uploads: Uploads;

  constructor(ctx: DurableObject['ctx'], env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(SCHEMA);
    this.#blobs = new Blobs(ctx.storage.sql);
    this.#uploads = new Uploads(ctx.storage.sql, this.#blobs);
  }

  head(key: string): BucketEntry | null {
    return this.#find(key) ?? null;
  }

  /**
   * Returns the object, with its body if the condition is met; null if there is no such object.
   *
   * @throws Error if the range is outside of the object
   */
  get(key: string, { onlyIf, range: wantedRange }: GetRequest): FoundObject | null {
    const object = this.#find(key);
    if (object === undefined) return null;
    const whole = { offset: 0, length: object.size };
    if (onlyIf !== undefined && !isConditionMet(onlyIf, object))
      return { object, range: whole, body: null };
    const range = resolveRange(wantedRange, object.size);
    if (range === undefined) throw r2Error('get', 10039);
    const body =
      range.length <= ROW_BYTES
        ? this.#blobs.read(object.version, range)
        : new Response(this.#blobs.stream(object.version, range));
    return { object, range, body };
  }

  /**
   * Stores an object. Returns null if the condition is not met.
   *
   * @throws Error if a digest differs, and the stream's error
   */
  async put(request: PutRequest): Promise<BucketEntry | null> {
    const { key, httpMetadata, customMetadata, size, content, onlyIf } = request;
    const { id, digests } = await this.#blobs.write(content, size, request.checksums);
    try {
      return this.ctx.storage.transactionSync(() => {
        checkDigests(request.checksums, digests);
        if (onlyIf !== undefined && !isConditionMet(onlyIf, this.#find(key))) {
          this.#blobs.drop([id]);
          return null;
        }
        const etag = digests.md5!;
        const object = {
          ...{ key, version: randomVersion(), size, etag, uploaded: Date.now() },
          ...{ checksums: digests, httpMetadata, customMetadata },
        };
        this.#replace(object);
        this.#blobs.setOwner(id, object.version, { number: 1, size, etag, md5: etag });
        return object;
      });
    } catch (error) {
      this.#blobs.drop([id]);
      throw error;
    }
  }

  delete(keys: readonly string[]): void {
    this.ctx.storage.transactionSync(() => {
      for (const key of keys) this.#remove(key);
    });
  }

  /**
   * Lists keys in the order of their bytes. Keys with the same text up to the delimiter become one delimited prefix.
   */
  list({ prefix, delimiter, after, limit }: ListRequest): ListedPage {
    const objects: BucketEntry[] = [];
    const delimitedPrefixes: string[] = [];
    let last: string | undefined;
    const rows = this.ctx.storage.sql.exec<Row>(
      'SELECT * FROM object WHERE key >= ? AND (?2 IS NULL OR key > ?2) ORDER BY key',
      ...[prefix, after ?? null],
    );
    for (const row of rows) {
      const { key } = row;
      if (!key.startsWith(prefix)) break;
      const found = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
      const group = found === -1 ? undefined : key.slice(0, found + delimiter.length);
      if (group === undefined || group !== delimitedPrefixes.at(-1)) {
        if (objects.length + delimitedPrefixes.length === limit) {
          return { objects, delimitedPrefixes, last };
        }
        if (group === undefined) objects.push(entryOfRow(row));
        else delimitedPrefixes.push(group);
      }
      last = key;
    }
    return { objects, delimitedPrefixes, last: undefined };
  }

  createUpload(metadata: UploadMetadata): string {
    this.#uploads.deleteOld();
    return this.#uploads.create(metadata);
  }

  /** Stores a part and returns its ETag. @throws Error if there is no such upload, and the stream's error */
  async uploadPart(
    key: string,
    uploadId: string,
    number: number,
    { size, content }: PutValue,
  ): Promise<string> {
    this.#uploads.deleteOld();
    const { id, digests } = await this.#blobs.write(content, size, {});
    const part: BlobPart = { number, size, etag: randomId(), md5: digests.md5! };
    try {
      this.ctx.storage.transactionSync(() => this.#uploads.addPart(key, uploadId, id, part));
    } catch (error) {
      this.#blobs.drop([id]);
      throw error;
    }
    return part.etag;
  }

  /** Makes the object of the parts. @throws Error if a part is missing or too small */
  completeUpload(key: string, uploadId: string, parts: readonly PublishedPart[]): BucketEntry {
    this.#uploads.deleteOld();
    return this.ctx.storage.transactionSync(() => {
      const { metadata, blobs, etag } = this.#uploads.complete(key, uploadId, parts);
      const version = randomVersion();
      const size = blobs.reduce((sum, blob) => sum + blob.size, 0);
      const object = { version, size, etag, uploaded: Date.now(), checksums: {}, ...metadata };
      this.#replace(object);
      for (const blob of blobs) this.#blobs.setOwner(blob.id, version, blob);
      this.#blobs.dropOwnedBy(uploadId);
      return object;
    });
  }

  /** Deletes the upload. @throws Error if there was never such an upload */
  abortUpload(key: string, uploadId: string): void {
    this.#uploads.deleteOld();
    this.ctx.storage.transactionSync(() => this.#uploads.abort(key, uploadId));
  }

  #find(key: string): BucketEntry | undefined {
    const [row] = this.ctx.storage.sql.exec<Row>('SELECT * FROM object WHERE key = ?', key);
    return row && entryOfRow(row);
  }

  #replace({ checksums, ...object }: BucketEntry): void {
    this.#remove(object.key);
    this.ctx.storage.sql.exec(
      `INSERT INTO object(key, version, size, etag, uploaded, checksums, httpMetadata, customMetadata)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[object.key, object.version, object.size, object.etag, object.uploaded],
      ...[JSON.stringify(checksums), object.httpMetadata, object.customMetadata],
    );
  }

  #remove(key: string): void {
    const [removed] = this.ctx.storage.sql.exec<{ version: string }>(
      'DELETE FROM object WHERE key = ? RETURNING version',
      key,
    );
    if (removed !== undefined) this.#blobs.dropOwnedBy(removed.version);
  }
}

function entryOfRow({ checksums, ...row }: Row): BucketEntry {
  return { ...row, checksums: JSON.parse(checksums) as Checksums };
}

/** Compares the digests. @throws Error if a digest of the bytes differs from the one that the caller gave */
function checkDigests(expected: Checksums, actual: Checksums): void {
  for (const [algorithm, given] of Object.entries(expected) as [Algorithm, string][]) {
    const found = actual[algorithm]!;
    if (found !== given) throw badDigest(ALGORITHMS[algorithm].name, given, found);
  }
}

function randomVersion(): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(16)));
}
