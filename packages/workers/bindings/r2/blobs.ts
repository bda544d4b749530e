// Stores the bytes of a bucket in rows of at most 1 MiB. A blob holds the bytes of one put, or of one part of an
// upload.
//
// Invariant: every row of the table `part` belongs to a blob. A blob without an owner is still being written, or is
// read although its object was replaced. The next instance deletes it at its start, because writers and readers have
// ended.

import type { SqlStorage } from '@ctx-storage/core/storage';
import { type Checksums, Digests } from './digests.ts';
import { ROW_BYTES } from './put-value.ts';
import type { ByteRange } from './ranges.ts';

/** A blob whose bytes are written, and which has no owner yet. */
export interface WrittenBlob {
  readonly id: number;
  readonly digests: Checksums;
}

/** The number, size and digests of a blob that is one part of an upload. */
export interface BlobPart {
  readonly number: number;
  readonly size: number;
  readonly etag: string;
  readonly md5: string;
}

type StoredBlob = BlobPart & { readonly id: number };

/** A range of bytes in one blob. */
interface BlobRange extends ByteRange {
  readonly blob: number;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS blob(
    id INTEGER PRIMARY KEY, owner TEXT, number INTEGER, size INTEGER, etag TEXT, md5 TEXT);
  CREATE INDEX IF NOT EXISTS owned ON blob(owner, number);
  CREATE TABLE IF NOT EXISTS part(
    blob INTEGER NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (blob, number));`;

export class Blobs {
  readonly #sql: SqlStorage;
  /** The number of readers of each blob. */
  readonly #readers = new Map<number, number>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
    this.#delete('owner IS NULL');
  }

  /**
   * Stores the bytes as a blob without an owner.
   *
   * @throws TypeError if there are not exactly `size` bytes, and the stream's error
   */
  async write(
    content: Uint8Array | ReadableStream<Uint8Array>,
    size: number,
    expectedDigests: Checksums,
  ): Promise<WrittenBlob> {
    const { id } = this.#sql
      .exec<{ id: number }>('INSERT INTO blob(owner) VALUES (NULL) RETURNING id')
      .one();
    const digests = new Digests(expectedDigests);
    let number = 0;
    let written = 0;
    const add = (bytes: Uint8Array) => {
      digests.update(bytes);
      this.#sql.exec('INSERT INTO part(blob, number, bytes) VALUES (?, ?, ?)', id, number, bytes);
      number += 1;
      written += bytes.length;
    };
    try {
      if (content instanceof Uint8Array) add(content);
      else await eachChunk(content, add);
      if (written !== size) {
        throw new TypeError(`The stream has given ${written} bytes, but its length is ${size}.`);
      }
    } catch (error) {
      this.drop([id]);
      throw error;
    }
    return { id, digests: digests.end() };
  }

  /** Gives the blob its owner: the version of an object, or the id of an upload. */
  setOwner(id: number, owner: string, { number, size, etag, md5 }: BlobPart): void {
    this.#sql.exec(
      'UPDATE blob SET owner = ?, number = ?, size = ?, etag = ?, md5 = ? WHERE id = ?',
      ...[owner, number, size, etag, md5, id],
    );
  }

  /** Returns the blobs of the owner in the order of their numbers. */
  ownedBy(owner: string): StoredBlob[] {
    return this.#sql
      .exec<StoredBlob>(
        'SELECT id, number, size, etag, md5 FROM blob WHERE owner = ? ORDER BY number',
        owner,
      )
      .toArray();
  }

  dropOwnedBy(owner: string): void {
    this.drop(this.ownedBy(owner).map(({ id }) => id));
  }

  /** Deletes the blobs. A blob that is being read is deleted when its last reader ends. */
  drop(ids: readonly number[]): void {
    for (const id of ids) {
      if (this.#readers.has(id)) this.#sql.exec('UPDATE blob SET owner = NULL WHERE id = ?', id);
      else this.#delete('id = ?', id);
    }
  }

  /** Returns the owner's bytes in the range. */
  read(owner: string, range: ByteRange): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(range.length);
    let at = 0;
    for (const chunk of this.#chunks(this.#pieces(owner, range))) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return bytes;
  }

  /**
   * Streams the owner's bytes in the range, reading one row at a time. The stream continues even if the blobs are
   * dropped.
   */
  stream(owner: string, range: ByteRange): ReadableStream<Uint8Array> {
    const pieces = this.#pieces(owner, range);
    const chunks = this.#chunks(pieces);
    const end = this.#addReaders(pieces.map(({ blob }) => blob));
    return new ReadableStream(
      {
        pull: (controller) => {
          const { value } = chunks.next();
          if (value !== undefined) controller.enqueue(value);
          else {
            controller.close();
            end();
          }
        },
        cancel: end,
      },
      { highWaterMark: 0 },
    );
  }

  #pieces(owner: string, { offset, length }: ByteRange): BlobRange[] {
    const pieces: BlobRange[] = [];
    let start = 0;
    for (const { id, size } of this.ownedBy(owner)) {
      const from = Math.max(offset, start);
      const to = Math.min(offset + length, start + size);
      if (from < to) pieces.push({ blob: id, offset: from - start, length: to - from });
      start += size;
    }
    return pieces;
  }

  *#chunks(pieces: readonly BlobRange[]): Generator<Uint8Array<ArrayBuffer>, undefined> {
    for (const { blob, offset, length } of pieces) {
      const end = offset + length;
      for (let at = offset; at < end; ) {
        const number = Math.floor(at / ROW_BYTES);
        const start = number * ROW_BYTES;
        const { bytes } = this.#sql
          .exec<{ bytes: ArrayBuffer }>(
            'SELECT bytes FROM part WHERE blob = ? AND number = ?',
            ...[blob, number],
          )
          .one();
        const until = Math.min(end, start + bytes.byteLength);
        yield new Uint8Array(bytes, at - start, until - at);
        at = until;
      }
    }
  }

  #addReaders(ids: readonly number[]): () => void {
    for (const id of ids) this.#readers.set(id, (this.#readers.get(id) ?? 0) + 1);
    return () => {
      for (const id of ids) {
        const left = this.#readers.get(id)! - 1;
        if (left > 0) this.#readers.set(id, left);
        else {
          this.#readers.delete(id);
          this.#delete('id = ? AND owner IS NULL', id);
        }
      }
    };
  }

  #delete(condition: string, ...values: number[]): void {
    this.#sql.exec(
      `DELETE FROM part WHERE blob IN (SELECT id FROM blob WHERE ${condition})`,
      ...values,
    );
    this.#sql.exec(`DELETE FROM blob WHERE ${condition}`, ...values);
  }
}

/** Calls `take` with each chunk of the stream. It uses a reader, because Safari has no `for await` of streams. */
async function eachChunk(
  stream: ReadableStream<Uint8Array>,
  take: (chunk: Uint8Array) => void,
): Promise<void> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) take(next.value);
  } catch (error) {
    await reader.cancel(error).catch(() => {}); // cancelling a stream that failed rejects with its error again
    throw error;
  }
}
