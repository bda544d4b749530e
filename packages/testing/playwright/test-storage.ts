// The storage of one object, as a test sees it: `ctx.storage`, from outside of the browser.
//
// It keeps nothing open. Each call finds the worker that leads then, so it works before the app has loaded, while it
// runs, after a reload, and after its last page was closed.

import { readFile } from 'node:fs/promises';
import type { ListOptions, SqlRow, StorageChange } from '@ctx-storage/core/storage';
import { wordsOfObject } from './object-names.ts';
import type { OriginObjects } from './origin-objects.ts';
import type { ListedByHelper, Need, ObjectName } from './page/helper-protocol.ts';
import { runAsStep } from './steps.ts';

/** Reads for matchers and reports, which do not appear as steps in the report. */
export interface QuietReads {
  read(method: string, ...parameters: unknown[]): Promise<unknown>;
  sql(query: string, bindings: readonly unknown[]): Promise<SqlRow[]>;
  diff(from: string | Date): Promise<StorageChange[]>;
}

export class TestStorage {
  readonly #objects: OriginObjects;
  readonly #object: ObjectName;

  constructor(objects: OriginObjects, object: ObjectName) {
    this.#objects = objects;
    this.#object = object;
  }

  /** The name of the object's class; null for an object of `openStorage`. */
  get className(): string | null {
    return this.#object.className;
  }

  /** The object's name; undefined if it was named by its id. */
  get name(): string | undefined {
    return this.#object.name;
  }

  /** Returns the value, or undefined if the key does not exist; for several keys, the entries that exist. */
  get<T = unknown>(key: string): Promise<T | undefined>;
  get<T = unknown>(keys: string[]): Promise<Map<string, T>>;
  get(key: string | string[]): Promise<unknown> {
    return this.#step(`get ${quoteKeys(key)}`, 'get', [key], 'stored');
  }

  /** Returns the entries of a range, in the order of their keys. */
  list<T = unknown>(options: ListOptions = {}): Promise<Map<string, T>> {
    return this.#step('list', 'list', [options], 'stored') as Promise<Map<string, T>>;
  }

  /** Stores a value, or several entries, of which all or none are stored. */
  put<T>(key: string, value: T): Promise<void>;
  put<T>(entries: Record<string, T>): Promise<void>;
  async put(key: string | Record<string, unknown>, ...value: unknown[]): Promise<void> {
    const keys = typeof key === 'string' ? key : Object.keys(key);
    await this.#step(`put ${quoteKeys(keys)}`, 'put', [key, ...value], 'storage');
  }

  /** Deletes a key and returns whether it existed; for several keys, returns how many existed. */
  delete(key: string): Promise<boolean>;
  delete(keys: string[]): Promise<number>;
  delete(key: string | string[]): Promise<unknown> {
    return this.#step(`delete ${quoteKeys(key)}`, 'delete', [key], 'storage');
  }

  /** Removes everything except the alarm. */
  async deleteAll(): Promise<void> {
    await this.#step('deleteAll', 'deleteAll', [], 'storage');
  }

  /** Returns all rows of a query. */
  sql<T extends object = SqlRow>(query: string, ...bindings: unknown[]): Promise<T[]> {
    // A write may be made before the app runs, while a read waits for it. The statement shows which of the two it is.
    const need = READS.test(query) ? 'stored' : 'storage';
    return runAsStep(`${this}: sql ${shortenQuery(query)}`, () =>
      this.#sql(query, bindings, need),
    ) as Promise<T[]>;
  }

  /** Returns when the alarm is due, in milliseconds; null when none is set. */
  getAlarm(): Promise<number | null> {
    return this.#step('getAlarm', 'getAlarm', [], 'stored') as Promise<number | null>;
  }

  async setAlarm(time: number | Date): Promise<void> {
    await this.#step('setAlarm', 'setAlarm', [time], 'storage');
  }

  async deleteAlarm(): Promise<void> {
    await this.#step('deleteAlarm', 'deleteAlarm', [], 'storage');
  }

  /** Returns the bookmark of the present moment, for `restore`. */
  getCurrentBookmark(): Promise<string> {
    return this.#step('getCurrentBookmark', 'getCurrentBookmark', [], 'storage') as Promise<string>;
  }

  /** Restores the object to a bookmark or a time, and returns the bookmark that undoes it. */
  restore(moment: string | Date): Promise<string> {
    return this.#step('restore', 'restore', [moment], 'storage') as Promise<string>;
  }

  /**
   * Returns the changes between two moments, each a bookmark or a time; without the second, until now. There may be at
   * most 10,000.
   *
   * @throws BOOKMARK_UNAVAILABLE; INVALID_ARGUMENT if there are more
   */
  diff(from: string | Date, to: string | Date | null = null): Promise<StorageChange[]> {
    const request = { op: 'diff', object: this.#object, from, to, need: 'stored' } as const;
    return runAsStep(`${this}: diff`, () => this.#objects.ask(request)) as Promise<StorageChange[]>;
  }

  /** Returns the database as a SQLite file. */
  exportDatabase(): Promise<Uint8Array> {
    return this.#step('exportDatabase', 'exportDatabase', [], 'stored') as Promise<Uint8Array>;
  }

  /** Replaces everything by a SQLite file, given as its path or its bytes. */
  importDatabase(file: string | Uint8Array): Promise<string> {
    return runAsStep(`${this}: importDatabase`, async () => {
      const bytes = typeof file === 'string' ? new Uint8Array(await readFile(file)) : file;
      const parameters = [new Uint8Array(bytes)];
      return (await this.#ask('importDatabase', parameters, 'storage')) as string;
    });
  }

  /** Discards the object's memory, with writes that are not durable. The next call constructs it again. */
  async abort(reason?: string): Promise<void> {
    await this.#step('abort', 'abort', reason === undefined ? [] : [reason], 'storage');
  }

  /** Calls a method of the object, in the app's worker. */
  call<T = unknown>(method: string, ...parameters: unknown[]): Promise<T> {
    return runAsStep(`${this}: ${method}()`, () =>
      this.#objects.ask({ op: 'call', object: this.#object, method, parameters }),
    ) as Promise<T>;
  }

  /** Runs the alarm's handler now, and removes the alarm. Returns false if none is set. */
  runAlarm(): Promise<boolean> {
    return runAsStep(`${this}: run the alarm`, () =>
      this.#objects.ask({ op: 'runAlarm', object: this.#object }),
    ) as Promise<boolean>;
  }

  /** Ends the object's instance in order. The next call constructs it again. */
  evict(): Promise<void> {
    return runAsStep(`${this}: evict`, async () => {
      await this.#objects.ask({ op: 'evict', object: this.#object });
    });
  }

  /** Describes the object, such as `Room 'lobby'`; a branch as `fork 1 of Room 'lobby'`. */
  toString(): string {
    return wordsOfObject(this.#object);
  }

  /** The name of the object, which other parts of the harness use. */
  get object(): ObjectName {
    return this.#object;
  }

  /** Returns reads for matchers and reports: they are no steps, and do not wait for missing data. */
  quietly(waitMs: number): QuietReads {
    const options = { waitMs };
    return {
      read: (method, ...parameters) =>
        this.#objects.ask(
          { op: 'storage', object: this.#object, method, parameters, need: 'stored' },
          options,
        ),
      sql: (query, bindings) =>
        this.#objects.ask(
          { op: 'sql', object: this.#object, query, bindings, need: 'stored' },
          options,
        ) as Promise<SqlRow[]>,
      diff: (from) =>
        this.#objects.ask(
          { op: 'diff', object: this.#object, from, to: null, need: 'stored' },
          options,
        ) as Promise<StorageChange[]>,
    };
  }

  /**
   * If the object stores nothing, returns a text that says so and lists the other objects of its class; otherwise null.
   */
  async emptiness(waitMs: number): Promise<string | null> {
    const reads = this.quietly(waitMs);
    const entries = await reads.read('list', { limit: 1 });
    const alarm = await reads.read('getAlarm');
    if (!(entries instanceof Map) || entries.size > 0 || alarm !== null) return null;
    const tables =
      "SELECT 1 FROM sqlite_master WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\' LIMIT 1";
    if ((await reads.sql(tables, [])).length > 0) return null;
    const { className } = this.#object;
    if (className === null) return `${this} stores nothing.`;
    const listed = await this.#objects.ask({ op: 'list', className }, { waitMs });
    const others = (listed as ListedByHelper[])
      .map(({ id, name }) =>
        wordsOfObject({ className, ...(name === undefined ? { id } : { name }) }),
      )
      .filter((words) => words !== String(this));
    const shown = others.slice(0, NAMES_MAX).join(', ');
    const more = others.length > NAMES_MAX ? ` and ${others.length - NAMES_MAX} more` : '';
    return `${this} stores nothing; ${others.length === 0 ? 'no other object of its class exists' : `there are: ${shown}${more}`}.`;
  }

  #step(title: string, method: string, parameters: unknown[], need: Need): Promise<unknown> {
    return runAsStep(`${this}: ${title}`, () => this.#ask(method, parameters, need));
  }

  #ask(method: string, parameters: readonly unknown[], need: Need): Promise<unknown> {
    return this.#objects.ask({ op: 'storage', object: this.#object, method, parameters, need });
  }

  #sql(query: string, bindings: readonly unknown[], need: Need): Promise<unknown> {
    return this.#objects.ask({ op: 'sql', object: this.#object, query, bindings, need });
  }
}

/** The largest number of names that a message lists. */
const NAMES_MAX = 10;

const READS = /^\s*(?:select|values|with|pragma|explain)\b/i;

const TITLE_CHARS = 60;

function shortenQuery(query: string): string {
  const line = query.replace(/\s+/g, ' ').trim();
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS)}…` : line;
}

function quoteKeys(keys: unknown): string {
  return [keys]
    .flat()
    .map((key) => `'${String(key)}'`)
    .join(', ');
}
