// The object that keeps the data of one KV namespace. The first mebibyte of a value is in its row of `entry`, and each
// further mebibyte in a row of `part`.
//
// Invariant: an expired key is not visible, and the next write deletes its rows.

import { DurableObject } from '@ctx-storage/worker/realm';

/** A stored value with its metadata. */
export interface StoredValue {
  readonly bytes: Uint8Array;
  /** The metadata as JSON, or null if the value has none. */
  readonly metadata: string | null;
}

export interface KvEntry {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** The time at which the key expires, in seconds since the epoch, or null if it never does. */
  readonly expiration: number | null;
  readonly metadata: string | null;
}

/** A key in the result of `list`. */
export type ListedKey = Pick<KvEntry, 'expiration' | 'metadata'> & { readonly name: string };

type Row = { id: number; bytes: ArrayBuffer; metadata: string | null; parts: number };

const PART_BYTES = 1024 * 1024;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS entry(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL, parts INTEGER NOT NULL,
    expiration INTEGER, metadata TEXT);
  CREATE INDEX IF NOT EXISTS expiring ON entry(expiration) WHERE expiration IS NOT NULL;
  CREATE TABLE IF NOT EXISTS part(
    entry INTEGER NOT NULL, number INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (entry, number));`;

export class KvObject extends DurableObject {
  constructor(ctx: DurableObject['ctx'], env: object) {
    super(ctx, env);
    ctx.storage.sql.exec(SCHEMA);
  }

  /** Returns the values of the keys, in their order, with null for a key that is missing. */
  read(keys: readonly string[]): (StoredValue | null)[] {
    return keys.map((key) => {
      const [row] = this.#sql.exec<Row>(
        'SELECT id, bytes, metadata, parts FROM entry WHERE key = ? AND (expiration IS NULL OR expiration > ?)',
        key,
        nowSeconds(),
      );
      return row === undefined ? null : { bytes: this.#bytesOf(row), metadata: row.metadata };
    });
  }

  write({ key, bytes, expiration, metadata }: KvEntry): void {
    this.#remove('expiration <= ?', nowSeconds());
    this.#remove('key = ?', key);
    const { id } = this.#sql
      .exec<{ id: number }>(
        'INSERT INTO entry(key, bytes, parts, expiration, metadata) VALUES (?, ?, ?, ?, ?) RETURNING id',
        key,
        bytes.subarray(0, PART_BYTES),
        Math.max(0, Math.ceil(bytes.length / PART_BYTES) - 1),
        expiration,
        metadata,
      )
      .one();
    for (let offset = PART_BYTES; offset < bytes.length; offset += PART_BYTES) {
      this.#sql.exec(
        'INSERT INTO part(entry, number, bytes) VALUES (?, ?, ?)',
        id,
        offset / PART_BYTES,
        bytes.subarray(offset, offset + PART_BYTES),
      );
    }
  }

  remove(key: string): void {
    this.#remove('key = ?', key);
  }

  /** Returns at most `limit` keys that have the prefix and come after the key `after`, in the order of their bytes. */
  list(prefix: string, after: string, limit: number): ListedKey[] {
    const listed: ListedKey[] = [];
    const rows = this.#sql.exec<ListedKey>(
      `SELECT key AS name, expiration, metadata FROM entry
       WHERE key >= ? AND key > ? AND (expiration IS NULL OR expiration > ?) ORDER BY key`,
      prefix,
      after,
      nowSeconds(),
    );
    for (const row of rows) {
      if (listed.length === limit || !row.name.startsWith(prefix)) break;
      listed.push(row);
    }
    return listed;
  }

  #bytesOf({ id, bytes, parts }: Row): Uint8Array {
    if (parts === 0) return new Uint8Array(bytes);
    const rows = this.#sql.exec<{ bytes: ArrayBuffer }>(
      'SELECT bytes FROM part WHERE entry = ? ORDER BY number',
      id,
    );
    const all = [bytes, ...rows.toArray().map((part) => part.bytes)];
    const whole = new Uint8Array(all.reduce((sum, { byteLength }) => sum + byteLength, 0));
    let offset = 0;
    for (const part of all) {
      whole.set(new Uint8Array(part), offset);
      offset += part.byteLength;
    }
    return whole;
  }

  #remove(condition: string, value: string | number): void {
    this.#sql.exec(
      `DELETE FROM part WHERE entry IN (SELECT id FROM entry WHERE ${condition} AND parts > 0)`,
      value,
    );
    this.#sql.exec(`DELETE FROM entry WHERE ${condition}`, value);
  }

  get #sql() {
    return this.ctx.storage.sql;
  }
}

function nowSeconds(): number {
  return Date.now() / 1000;
}
