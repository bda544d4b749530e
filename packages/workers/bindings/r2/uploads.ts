// The uploads in parts of a bucket, from their beginning to 7 days later, as R2 keeps them.
//
// Invariant: the owner of the blobs of an upload is its id. An upload that has ended keeps its row, so that a later call
// learns that it existed.

import type { SqlStorage } from '@ctx-storage/core/storage';
import type { BlobPart, Blobs } from './blobs.ts';
import { etagOfParts } from './digests.ts';
import { r2Error } from './r2-error.ts';

/** What an object has beside its bytes. */
export interface UploadMetadata {
  readonly key: string;
  /** As JSON; `cacheExpiry` in milliseconds since the epoch. */
  readonly httpMetadata: string;
  /** As JSON. */
  readonly customMetadata: string;
}

/** A part as its uploader names it. */
export interface PublishedPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** What an upload has become. */
interface Completed {
  readonly metadata: UploadMetadata;
  /** By their numbers. */
  readonly blobs: readonly (BlobPart & { readonly id: number })[];
  readonly etag: string;
}

type State = 'open' | 'ended';

const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
/** Of all parts but the last. */
const PART_BYTES_MIN = 5 * 1024 * 1024;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS upload(
    id TEXT PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, state TEXT NOT NULL,
    httpMetadata TEXT NOT NULL, customMetadata TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS aging ON upload(created);`;

export class Uploads {
  readonly #sql: SqlStorage;
  readonly #blobs: Blobs;

  constructor(sql: SqlStorage, blobs: Blobs) {
    this.#sql = sql;
    this.#blobs = blobs;
    sql.exec(SCHEMA);
  }

  /** Ends those that are 7 days old. Not in a transaction of a call that may fail. */
  deleteOld(): void {
    const old = this.#sql.exec<{ id: string }>(
      'SELECT id FROM upload WHERE created <= ?',
      Date.now() - LIFETIME_MS,
    );
    for (const { id } of old.toArray()) {
      this.#blobs.dropOf(id);
      this.#sql.exec('DELETE FROM upload WHERE id = ?', id);
    }
  }

  /** Its id. */
  create({ key, httpMetadata, customMetadata }: UploadMetadata): string {
    const id = randomId();
    this.#sql.exec(
      `INSERT INTO upload(id, key, created, state, httpMetadata, customMetadata)
       VALUES (?, ?, ?, 'open', ?, ?)`,
      ...[id, key, Date.now(), httpMetadata, customMetadata],
    );
    return id;
  }

  /** Gives the blob to the upload. @throws Error */
  add(key: string, id: string, blob: number, part: BlobPart): void {
    if (this.#find(key, id)?.state !== 'open') throw r2Error('uploadPart', 10024);
    const before = this.#blobs.ownedBy(id).filter(({ number }) => number === part.number);
    this.#blobs.drop(before.map((old) => old.id));
    this.#blobs.give(blob, id, part);
  }

  /** Ends the upload, whose blobs keep their owner. @throws Error */
  complete(key: string, id: string, parts: readonly PublishedPart[]): Completed {
    const operation = 'completeMultipartUpload';
    const upload = this.#find(key, id);
    if (upload === undefined) throw r2Error(operation, 10001);
    if (upload.state === 'ended') throw r2Error(operation, 10024);
    const numbers = new Set(parts.map(({ partNumber }) => partNumber));
    if (numbers.size < parts.length) throw r2Error(operation, 10001);
    const uploaded = new Map(this.#blobs.ownedBy(id).map((blob) => [blob.number, blob]));
    const blobs = parts.map(({ partNumber, etag }) => {
      const blob = uploaded.get(partNumber);
      if (blob?.etag !== etag) throw r2Error(operation, 10025);
      return blob;
    });
    // In the order of the caller; the sizes, in that of the object.
    if (blobs.slice(0, -1).some(({ size }) => size < PART_BYTES_MIN)) {
      throw r2Error(operation, 10011);
    }
    blobs.sort((a, b) => a.number - b.number);
    const [first, last] = [blobs[0], blobs.at(-1)];
    const areEqual = blobs.slice(0, -1).every(({ size }) => size === first!.size);
    const isAnySmall = blobs.slice(0, -1).some(({ size }) => size < PART_BYTES_MIN);
    if (!areEqual || isAnySmall || (last?.size ?? 0) > (first?.size ?? 0)) {
      throw r2Error(operation, 10048);
    }
    this.#end(id);
    const { httpMetadata, customMetadata } = upload;
    return {
      metadata: { key, httpMetadata, customMetadata },
      blobs,
      etag: etagOfParts(blobs.map(({ md5 }) => md5)),
    };
  }

  /** Deletes its parts. @throws Error */
  abort(key: string, id: string): void {
    const upload = this.#find(key, id);
    if (upload === undefined) throw r2Error('abortMultipartUpload', 10001);
    this.#blobs.dropOf(id);
    this.#end(id);
  }

  #find(key: string, id: string) {
    const [row] = this.#sql.exec<UploadMetadata & { state: State }>(
      'SELECT key, state, httpMetadata, customMetadata FROM upload WHERE id = ? AND key = ?',
      ...[id, key],
    );
    return row;
  }

  #end(id: string): void {
    this.#sql.exec("UPDATE upload SET state = 'ended' WHERE id = ?", id);
  }
}

/** As long as R2's. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(128));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
