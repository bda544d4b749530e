// Stores the data of an object: items in named collections, and single documents.
//
// Items are JSON in one table and can be found by their fields; documents are values under a key. All methods are
// synchronous, so that a call is one transaction.

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
  /** The name of a field, or several names, whose texts are joined by spaces. */
  readonly field: string | readonly string[];
  readonly kind: FilterKind;
  /** The value to compare with: 1 or 0 for a boolean, a JSON list for `one of`. `present` and `absent` ignore it. */
  readonly value: string | number;
}

/** Orders items by a field of an item in another collection, whose id is in the field `idField`. */
export interface FieldOfOther {
  readonly collection: string;
  readonly idField: string;
  readonly field: string;
}

export interface Selection {
  readonly filters?: readonly Filter[];
  /** Whether all filters must match, or at least one. @default 'all' */
  readonly match?: 'all' | 'any';
  /** Filters that must match in addition, with either value of `match`. */
  readonly always?: readonly Filter[];
  /** The field to order by; absent means the order of insertion. */
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

/**
 * The limits of an item and a document as JSON. An object stores rows of up to 2 MB, and values of up to 128 KiB with
 * up to two bytes for each character.
 */
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
    // Conditions `is` on these fields, in this order, use this index to find duplicate zones and records.
    storage.sql.exec(
      `CREATE INDEX IF NOT EXISTS items_by_name ON items
        (collection, ${['name', 'type', 'content'].map(sqlExpressionOf).join(', ')})`,
    );
  }

  /** Runs the function as a transaction; if it throws, its writes are undone. */
  transaction<T>(run: () => T): T {
    return this.#storage.transactionSync(run);
  }

  document<T>(name: string): T | undefined {
    return this.#storage.kv.get<T>(name);
  }

  /** Stores the document. @throws ApiError 413 if it is too large */
  putDocument(name: string, value: unknown): void {
    jsonWithin(value, DOCUMENT_BYTES_MAX);
    this.#storage.kv.put(name, value);
  }

  /** Deletes all items and documents. */
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

  /** Returns all ids in the order of insertion. */
  ids(): string[] {
    return this.#sql
      .exec('SELECT id FROM items WHERE collection = ? ORDER BY sequence', this.#name)
      .toArray()
      .map(({ id }) => String(id));
  }

  /** Returns one item that matches every filter. */
  first(filters: readonly Filter[]): T | undefined {
    const { where, bindings } = this.#where({ filters });
    const [row] = this.#sql
      .exec(`SELECT body FROM items WHERE ${where} LIMIT 1`, ...bindings)
      .toArray();
    return row && (JSON.parse(String(row.body)) as T);
  }

  /** Returns the items of the page, and the number of items on all pages. */
  find(selection: Selection = {}): { readonly items: T[]; readonly total: number } {
    const { order, descending = false, page } = selection;
    const { where, bindings } = this.#where(selection);
    const direction = descending ? 'DESC' : 'ASC';
    const orderBy = `${order ? `${orderExpressionOf(order)} ${direction}, ` : ''}sequence ${direction}`;
    const limits = page ? [page.size, (page.number - 1) * page.size] : [-1, 0];
    const rows = this.#sql.exec(
      `SELECT body FROM items WHERE ${where} ORDER BY ${orderBy} LIMIT ? OFFSET ?`,
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
      const text = CONDITIONS[kind](sqlExpressionOf(field)).replaceAll(/\?1?/g, () => {
        bindings.push(value);
        return '?';
      });
      return `(${text})`;
    };
    const joined = filters.map(condition).join(match === 'all' ? ' AND ' : ' OR ');
    const parts = ['collection = ?', ...(joined ? [`(${joined})`] : []), ...always.map(condition)];
    return { where: parts.join(' AND '), bindings };
  }

  /** Adds the item. @throws ApiError 413 if it is too large */
  insert(item: T): T {
    this.#sql.exec(
      'INSERT INTO items (collection, id, body) VALUES (?, ?, ?)',
      this.#name,
      item.id,
      jsonWithin(item, ITEM_BYTES_MAX),
    );
    return item;
  }

  /** Replaces the item that has the same id. @throws ApiError 413 if it is too large */
  replace(item: T): T {
    this.#sql.exec(
      'UPDATE items SET body = ? WHERE collection = ? AND id = ?',
      jsonWithin(item, ITEM_BYTES_MAX),
      this.#name,
      item.id,
    );
    return item;
  }

  /** Removes the item, and returns whether it existed. */
  remove(id: string): boolean {
    const existed = this.get(id) !== undefined;
    this.#sql.exec('DELETE FROM items WHERE collection = ? AND id = ?', this.#name, id);
    return existed;
  }
}

function jsonWithin(value: unknown, bytesMax: number): string {
  const json = JSON.stringify(value);
  const isShort = json.length <= bytesMax && new TextEncoder().encode(json).length <= bytesMax;
  if (isShort) return json;
  throw apiError(
    'BODY_TOO_LONG',
    `The resource would be larger than the limit of ${bytesMax} bytes.`,
  );
}

function orderExpressionOf(order: string | FieldOfOther): string {
  if (typeof order === 'string') return sqlExpressionOf(order);
  const { collection, idField, field } = order;
  return `(SELECT json_extract(other.body, '$.${field}') FROM items AS other
    WHERE other.collection = '${collection}' AND other.id = json_extract(items.body, '$.${idField}'))`;
}

/** Writes a field as an SQL expression. Field names never come from a request, so they need no escaping. */
function sqlExpressionOf(field: string | readonly string[]): string {
  if (typeof field === 'string') return `json_extract(body, '$.${field}')`;
  return `(${field.map((name) => `coalesce(${sqlExpressionOf(name)}, '')`).join(` || ' ' || `)})`;
}
