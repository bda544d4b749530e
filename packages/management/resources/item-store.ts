// The store of an object: items in named collections, and single documents.
//
// Items are JSON in one table and can be found by their fields; documents are values under a key. All
// methods are synchronous, so a call is one transaction.

import type { DurableObjectStorage } from '@ctx-storage/core/storage';
import { apiError } from '../call/call.ts';
import type { ListPage } from '../call/paging.ts';

export interface Item {
  readonly id: string;
}

export type FilterKind =
  | 'is'
  | 'is not'
  | 'one of'
  | 'exact'
  | 'contains'
  | 'startswith'
  | 'endswith'
  | 'present'
  | 'absent';

/** A condition on one field. Only `is`, `is not` and `one of` distinguish upper and lower case. */
export interface Filter {
  /** One field, or several whose texts are joined. */
  readonly field: string | readonly string[];
  readonly kind: FilterKind;
  /** Booleans are `1` and `0`; for `one of`, a JSON list. */
  readonly value: string | number;
}

/** A field of an item in another collection, whose id is in a field of the item. */
export interface FieldOfOther {
  readonly collection: string;
  readonly idField: string;
  readonly field: string;
}

export interface Selection {
  readonly filters?: readonly Filter[];
  /** Whether all filters must match, or any one. @default 'all' */
  readonly match?: 'all' | 'any';
  /** Filters that must match whatever `match` says. */
  readonly always?: readonly Filter[];
  /** Absent means the order of insertion. */
  readonly order?: string | FieldOfOther | undefined;
  readonly descending?: boolean;
  readonly page?: ListPage;
}

const CONDITIONS: Readonly<Record<FilterKind, (column: string) => string>> = {
  is: (column) => `${column} = ?`,
  'is not': (column) => `${column} <> ?`,
  'one of': (column) => `${column} IN (SELECT value FROM json_each(?))`,
  exact: (column) => `lower(${column}) = lower(?)`,
  contains: (column) => `instr(lower(${column}), lower(?)) > 0`,
  startswith: (column) => `instr(lower(${column}), lower(?)) = 1`,
  endswith: (column) => `substr(lower(${column}), -length(?1)) = lower(?1)`,
  present: (column) => `coalesce(${column}, '') <> ''`,
  absent: (column) => `coalesce(${column}, '') = ''`,
};

/** As JSON. An object stores rows up to 2 MB, and values up to 128 KiB with up to two bytes a character. */
const ITEM_BYTES_MAX = 1_000_000;
const DOCUMENT_BYTES_MAX = 64_000;

export class ItemStore {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS items (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT, collection TEXT NOT NULL, id TEXT NOT NULL,
        body TEXT NOT NULL, UNIQUE (collection, id))`,
    );
    // Used by `is` on these fields in this order, which finds duplicate zones and records.
    storage.sql.exec(
      `CREATE INDEX IF NOT EXISTS items_by_name ON items
        (collection, ${['name', 'type', 'content'].map(bound).join(', ')})`,
    );
  }

  /** Runs the call; if it throws, its writes are undone. */
  transaction<T>(run: () => T): T {
    return this.#storage.transactionSync(run);
  }

  document<T>(name: string): T | undefined {
    return this.#storage.kv.get<T>(name);
  }

  /** @throws ApiError 413 if it is too large to store */
  putDocument(name: string, value: unknown): void {
    jsonOf(value, DOCUMENT_BYTES_MAX);
    this.#storage.kv.put(name, value);
  }

  /** Deletes everything. */
  clear(): void {
    this.#storage.sql.exec('DELETE FROM items');
    for (const [key] of [...this.#storage.kv.list()]) this.#storage.kv.delete(key);
  }

  collection<T extends Item>(name: string): Collection<T> {
    return new Collection(this.#storage.sql, name);
  }
}

export class Collection<T extends Item> {
  readonly #sql: DurableObjectStorage['sql'];
  readonly #name: string;

  constructor(sql: DurableObjectStorage['sql'], name: string) {
    this.#sql = sql;
    this.#name = name;
  }

  get(id: string): T | undefined {
    const [row] = this.#sql
      .exec('SELECT body FROM items WHERE collection = ? AND id = ?', this.#name, id)
      .toArray();
    return row && (JSON.parse(String(row.body)) as T);
  }

  /** All ids, in the order of insertion. */
  ids(): string[] {
    return this.#sql
      .exec('SELECT id FROM items WHERE collection = ? ORDER BY sequence', this.#name)
      .toArray()
      .map(({ id }) => String(id));
  }

  /** An item that matches every filter. */
  first(filters: readonly Filter[]): T | undefined {
    const { where, bindings } = this.#where({ filters });
    const [row] = this.#sql
      .exec(`SELECT body FROM items WHERE ${where} LIMIT 1`, ...bindings)
      .toArray();
    return row && (JSON.parse(String(row.body)) as T);
  }

  /** The items of the list page, and the number of items on all list pages. */
  find(selection: Selection = {}): { readonly items: T[]; readonly total: number } {
    const { order, descending = false, page } = selection;
    const { where, bindings } = this.#where(selection);
    const direction = descending ? 'DESC' : 'ASC';
    const by = `${order ? `${ordered(order)} ${direction}, ` : ''}sequence ${direction}`;
    const limits = page ? [page.size, (page.number - 1) * page.size] : [-1, 0];
    const rows = this.#sql.exec(
      `SELECT body FROM items WHERE ${where} ORDER BY ${by} LIMIT ? OFFSET ?`,
      ...bindings,
      ...limits,
    );
    const items = rows.toArray().map((row) => JSON.parse(String(row.body)) as T);
    const { total } = this.#sql
      .exec(`SELECT count(*) AS total FROM items WHERE ${where}`, ...bindings)
      .one();
    return { items, total: Number(total) };
  }

  #where({ filters = [], match = 'all', always = [] }: Selection): {
    readonly where: string;
    readonly bindings: readonly (string | number)[];
  } {
    const bindings: (string | number)[] = [this.#name];
    const condition = ({ field, kind, value }: Filter) => {
      const text = CONDITIONS[kind](bound(field)).replaceAll(/\?1?/g, () => {
        bindings.push(value);
        return '?';
      });
      return `(${text})`;
    };
    const joined = filters.map(condition).join(match === 'all' ? ' AND ' : ' OR ');
    const parts = ['collection = ?', ...(joined ? [`(${joined})`] : []), ...always.map(condition)];
    return { where: parts.join(' AND '), bindings };
  }

  /** @throws ApiError 413 if it is too large to store */
  insert(item: T): T {
    this.#sql.exec(
      'INSERT INTO items (collection, id, body) VALUES (?, ?, ?)',
      this.#name,
      item.id,
      jsonOf(item, ITEM_BYTES_MAX),
    );
    return item;
  }

  /** @throws ApiError 413 if it is too large to store */
  replace(item: T): T {
    this.#sql.exec(
      'UPDATE items SET body = ? WHERE collection = ? AND id = ?',
      jsonOf(item, ITEM_BYTES_MAX),
      this.#name,
      item.id,
    );
    return item;
  }

  /** Returns whether it existed. */
  remove(id: string): boolean {
    const existed = this.get(id) !== undefined;
    this.#sql.exec('DELETE FROM items WHERE collection = ? AND id = ?', this.#name, id);
    return existed;
  }
}

function jsonOf(value: unknown, bytesMax: number): string {
  const json = JSON.stringify(value);
  const isShort = json.length <= bytesMax && new TextEncoder().encode(json).length <= bytesMax;
  if (isShort) return json;
  throw apiError(
    'BODY_TOO_LONG',
    `The resource would be larger than the limit of ${bytesMax} bytes.`,
  );
}

function ordered(by: string | FieldOfOther): string {
  if (typeof by === 'string') return bound(by);
  const { collection, idField, field } = by;
  return `(SELECT json_extract(other.body, '$.${field}') FROM items AS other
    WHERE other.collection = '${collection}' AND other.id = json_extract(items.body, '$.${idField}'))`;
}

/** A field as SQL. Names come from this package only, never from a request. */
function bound(field: string | readonly string[]): string {
  if (typeof field === 'string') return `json_extract(body, '$.${field}')`;
  return `(${field.map((name) => `coalesce(${bound(name)}, '')`).join(` || ' ' || `)})`;
}
