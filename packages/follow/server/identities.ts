// Makes marks of identities, which are stored instead of the identities, to recognize the identity of a client, and the
// identities that may not follow any more.
//
// A mark is a digest that is keyed with a random number of the object, its salt, so that an identity has another mark
// in each object, and no precomputed table finds the identity of a mark. A person who has the object's database can
// still test one guess after the other.
//
// Invariant: salt and ended identities survive the `deleteAll` of the class.

import type { DurableObjectStorage, SqlStorageValue } from '@ctx-storage/core/storage';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

const TABLES = `
  CREATE TABLE IF NOT EXISTS _follow_salt (one INTEGER PRIMARY KEY, salt BLOB NOT NULL);
  CREATE TABLE IF NOT EXISTS _follow_ended (identity TEXT PRIMARY KEY) WITHOUT ROWID;`;
const SALT_WORDS = 4;
/** Distinguishes a mark from an identity that an earlier version of this package has stored unmarked. */
const PREFIX = '_follow_mark:';

export class Identities {
  readonly #exec: DurableObjectStorage['sql']['exec'];
  readonly #salt: Uint8Array;

  /** Must be made before anything else wraps the storage's methods. */
  constructor(storage: DurableObjectStorage, randomUint32: () => number) {
    this.#exec = storage.sql.exec.bind(storage.sql);
    this.#exec(TABLES);
    this.#salt = this.#storedSalt() ?? this.#newSalt(randomUint32);
    const deleteAll = storage.deleteAll.bind(storage);
    const deleteAllButIdentities: typeof deleteAll = (...options) => {
      const ended = this.#values('SELECT identity FROM _follow_ended');
      // `deleteAll` has deleted everything when it returns; its promise waits for durability.
      const deleted = deleteAll(...options);
      this.#exec(TABLES);
      this.#storeSalt(this.#salt);
      for (const [mark] of ended) this.#insertEnded(mark!);
      return deleted;
    };
    Object.defineProperty(storage, 'deleteAll', {
      value: deleteAllButIdentities,
      configurable: true,
    });
  }

  markOf(identity: string): string {
    const digest = hmac(sha256, this.#salt, new TextEncoder().encode(identity));
    return PREFIX + bytesToHex(digest);
  }

  /**
   * Returns the mark for a stored text: the text itself if it is a mark, or the mark of an identity that an earlier
   * version of this package stored.
   */
  markOfStored(stored: string): string {
    return stored.startsWith(PREFIX) ? stored : this.markOf(stored);
  }

  isEnded(identity: string): boolean {
    const query = 'SELECT 1 FROM _follow_ended WHERE identity = ?';
    return this.#values(query, this.markOf(identity)).length > 0;
  }

  end(identity: string): void {
    this.#insertEnded(this.markOf(identity));
  }

  allow(identity: string): void {
    this.#exec('DELETE FROM _follow_ended WHERE identity = ?', this.markOf(identity));
  }

  #insertEnded(mark: SqlStorageValue): void {
    this.#exec('INSERT OR IGNORE INTO _follow_ended VALUES (?)', mark);
  }

  #storedSalt(): Uint8Array | null {
    const [row] = this.#values('SELECT salt FROM _follow_salt WHERE one = 1');
    const salt = row?.[0];
    return salt instanceof ArrayBuffer ? new Uint8Array(salt) : null;
  }

  #newSalt(randomUint32: () => number): Uint8Array {
    const salt = new Uint8Array(Uint32Array.from({ length: SALT_WORDS }, randomUint32).buffer);
    this.#storeSalt(salt);
    return salt;
  }

  #storeSalt(salt: Uint8Array): void {
    this.#exec('INSERT OR REPLACE INTO _follow_salt VALUES (1, ?)', salt.slice().buffer);
  }

  #values(query: string, ...bindings: SqlStorageValue[]): SqlStorageValue[][] {
    return [...this.#exec(query, ...bindings).raw()] as SqlStorageValue[][];
  }
}
