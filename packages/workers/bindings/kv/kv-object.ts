// The data of one KV namespace. A value is one row, and more rows for each further mebibyte.
//
// Invariant: an expired key is invisible, and its rows are deleted by a later write.

import { DurableObject } from '@ctx-storage/worker/realm';

/** A value as it is stored. */
export interface StoredValue {
  readonly bytes: Uint8Array;
  /** As JSON; null: it has none. */
  readonly metadata: string | null;
}

export interface KvEntry {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** In seconds since the epoch; null: never. */
  readonly expiration: number | null;
  readonly metadata: string | null;
}

/** A row of a list. */
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

  /** Parallel to the keys. */
  read(keys: readonly string[]): (StoredValue | null)[] {
    return keys.map((key) => {
      const [row] = this.#sql.exec<Row>(
        'SELECT id, bytes, metadata, parts FROM entry WHERE key = ? AND (expiration IS NULL OR expiration > ?)',
        key,
        nowSeconds(),
      );
      return row === undefined ? null : { bytes: this.#whole(row), metadata: row.metadata };
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
    for (let at = PART_BYTES; at < bytes.length; at += PART_BYTES) {
      this.#sql.exec(
        'INSERT INTO part(entry, number, bytes) VALUES (?, ?, ?)',
        id,
        at / PART_BYTES,
        bytes.subarray(at, at + PART_BYTES),
      );
    }
  }

  remove(key: string): void {
    this.#remove('key = ?', key);
  }

  /** Up to `limit` keys with the prefix, in order of their bytes, after the key `after`. */
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

  #whole({ id, bytes, parts }: Row): Uint8Array {
    if (parts === 0) return new Uint8Array(bytes);
    const rows = this.#sql.exec<{ bytes: ArrayBuffer }>(
      'SELECT bytes FROM part WHERE entry = ? ORDER BY number',
      id,
    );
    const all = [bytes, ...rows.toArray().map((part) => part.bytes)];
    const whole = new Uint8Array(all.reduce((sum, { byteLength }) => sum + byteLength, 0));
    let at = 0;
    for (const part of all) {
      whole.set(new Uint8Array(part), at);
      at += part.byteLength;
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
