// The multipart uploads of a bucket. As in R2, an upload is deleted 7 days after its beginning.
//
// Invariant: the owner of the blobs of an open upload is its id. An upload that has ended keeps its row, so that a
// later call gets another error than for an upload that never existed.

import type { SqlStorage } from '@ctx-storage/core/storage';
import type { BlobPart, Blobs } from './blobs.ts';
import { etagOfParts } from './digests.ts';
import { r2Error } from './r2-error.ts';

/** The key and metadata of an object, which are given when its upload begins. */
export interface UploadMetadata {
  readonly key: string;
  /** The HTTP metadata as JSON; `cacheExpiry` is a date in it. */
  readonly httpMetadata: string;
  /** The custom metadata as JSON. */
  readonly customMetadata: string;
}

/** A part as the program names it when it completes the upload. */
export interface PublishedPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** The metadata, blobs and ETag of the object that a completed upload becomes. */
interface CompletedUpload {
  readonly metadata: UploadMetadata;
  /** The blobs in the order of their part numbers. */
  readonly blobs: readonly (BlobPart & { readonly id: number })[];
  readonly etag: string;
}

type State = 'open' | 'ended';

const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
/** The smallest size of a part that is not the last. */
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

  /**
   * Deletes uploads that are 7 days old. It must not run in a transaction of a call that may fail, which would undo it.
   */
  deleteOld(): void {
    const old = this.#sql.exec<{ id: string }>(
      'SELECT id FROM upload WHERE created <= ?',
      Date.now() - LIFETIME_MS,
    );
    for (const { id } of old.toArray()) {
      this.#blobs.dropOwnedBy(id);
      this.#sql.exec('DELETE FROM upload WHERE id = ?', id);
    }
  }

  /** Begins an upload and returns its id. */
  create({ key, httpMetadata, customMetadata }: UploadMetadata): string {
    const id = randomId();
    this.#sql.exec(
      `INSERT INTO upload(id, key, created, state, httpMetadata, customMetadata)
       VALUES (?, ?, ?, 'open', ?, ?)`,
      ...[id, key, Date.now(), httpMetadata, customMetadata],
    );
    return id;
  }

  /**
   * Makes the blob a part of the upload, and drops an earlier part of that number.
   *
   * @throws Error if the upload is not open
   */
  addPart(key: string, id: string, blob: number, part: BlobPart): void {
    if (this.#find(key, id)?.state !== 'open') throw r2Error('uploadPart', 10024);
    const replaced = this.#blobs.ownedBy(id).filter(({ number }) => number === part.number);
    this.#blobs.drop(replaced.map((old) => old.id));
    this.#blobs.setOwner(blob, id, part);
  }

  /**
   * Ends the upload; its blobs keep it as their owner.
   *
   * @throws Error if the upload is not open, or a part does not fit
   */
  complete(key: string, id: string, parts: readonly PublishedPart[]): CompletedUpload {
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
    // The first check takes the parts in the caller's order, as R2 does; the later ones take them by their numbers.
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
    this.#markEnded(id);
    const { httpMetadata, customMetadata } = upload;
    return {
      metadata: { key, httpMetadata, customMetadata },
      blobs,
      etag: etagOfParts(blobs.map(({ md5 }) => md5)),
    };
  }

  /** Ends the upload and deletes its parts. @throws Error if it never existed */
  abort(key: string, id: string): void {
    const upload = this.#find(key, id);
    if (upload === undefined) throw r2Error('abortMultipartUpload', 10001);
    this.#blobs.dropOwnedBy(id);
    this.#markEnded(id);
  }

  #find(key: string, id: string) {
    const [row] = this.#sql.exec<UploadMetadata & { state: State }>(
      'SELECT key, state, httpMetadata, customMetadata FROM upload WHERE id = ? AND key = ?',
      ...[id, key],
    );
    return row;
  }

  #markEnded(id: string): void {
    this.#sql.exec("UPDATE upload SET state = 'ended' WHERE id = ?", id);
  }
}

/** Makes an id that is as long as the ids of R2. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(128));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
