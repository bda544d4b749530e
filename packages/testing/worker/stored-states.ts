// For tests of differences: states of a database as files in memory, without a log. A state is made from
// another one by statements, which takes milliseconds, and is never changed afterwards.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { Application } from '../../../worker/engine/diff/application.ts';
import { type StateDifference, StateDifferences } from '../../../worker/engine/diff/differences.ts';
import { KeyOrder } from '../../../worker/engine/diff/key-order.ts';
import { StatePages } from '../../../worker/engine/diff/state-pages.ts';
import type { DatabaseFile } from '../../../worker/engine/file/file.ts';
import type { PageLayer } from '../../../worker/engine/log/page-layer.ts';
import type { PastState } from '../../../worker/engine/log/past-state.ts';
import { type Cell, valueOfCell } from '../../../worker/engine/sql/cells.ts';
import type { Database, DatabaseEvents } from '../../../worker/engine/sql/database.ts';
import { Comparison, type ReadableState } from '../../../worker/engine/storage/comparison.ts';
import { type LogDatabase, openLogDatabase } from '../../../worker/engine/storage/databases.ts';
import { loadSqliteInNode } from './sqlite.ts';
import { openInMemory } from './test-database.ts';

const EVENTS = { beforeWrite() {}, onCritical() {} };
const PAGE_BYTES = 4096;

const sqlite = await loadSqliteInNode();

/** The bytes of one database. No state is known to share pages with it. */
export class StoredState implements DatabaseFile, PageLayer {
  readonly below = null;
  #bytes: Uint8Array;
  #sizeBytes: number;
  #committed: Uint8Array;
  #readableBytes = Number.POSITIVE_INFINITY;
  reads = 0;

  constructor(bytes = new Uint8Array()) {
    this.#bytes = bytes;
    this.#sizeBytes = bytes.length;
    this.#committed = bytes;
  }

  get pageCount(): number {
    return this.#sizeBytes / PAGE_BYTES;
  }

  *ownPages(): Generator<number> {}

  copy(): StoredState {
    return new StoredState(this.#bytes.slice(0, this.#sizeBytes));
  }

  /** The bytes of a page, counted from 1, which a test may change. */
  page(pageNumber: number): Uint8Array {
    return this.#bytes.subarray((pageNumber - 1) * PAGE_BYTES, pageNumber * PAGE_BYTES);
  }

  /** From now on, each read from this offset on fails. */
  fail(offset = 0): void {
    this.#readableBytes = offset;
  }

  read(target: Uint8Array, offset: number): boolean {
    if (offset >= this.#readableBytes) throw storageError('IO', 'read: the disk has failed.');
    this.reads++;
    const end = Math.min(offset + target.length, this.#sizeBytes);
    const found = this.#bytes.subarray(Math.min(offset, end), end);
    target.fill(0);
    target.set(found);
    return found.length === target.length;
  }

  write(bytes: Uint8Array, offset: number): void {
    if (offset + bytes.length > this.#sizeBytes) this.truncate(offset + bytes.length);
    this.#bytes.set(bytes, offset);
  }

  truncate(sizeBytes: number): void {
    if (sizeBytes > this.#bytes.length) {
      const bytes = new Uint8Array(Math.max(sizeBytes, 2 * this.#bytes.length));
      bytes.set(this.#bytes.subarray(0, this.#sizeBytes));
      this.#bytes = bytes;
    }
    this.#bytes.fill(0, Math.min(sizeBytes, this.#sizeBytes), this.#sizeBytes);
    this.#sizeBytes = sizeBytes;
  }

  sizeBytes(): number {
    return this.#sizeBytes;
  }

  commit(): void {
    this.#committed = this.#bytes.slice(0, this.#sizeBytes);
  }

  endRollback(): void {
    this.#bytes = this.#committed.slice();
    this.#sizeBytes = this.#bytes.length;
  }
}

/** Opens the database of a state. */
export function openState(state: StoredState): LogDatabase {
  return openLogDatabase(sqlite, { file: state }, EVENTS);
}

/** Calls `use` with the database of a state, which must not change it. */
export function inState<T>(state: StoredState, use: (database: Database) => T): T {
  const { database, close } = openState(state);
  try {
    return use(database);
  } finally {
    close();
  }
}

/** The state after one transaction of the statements. Hidden tables are written by trusted ones. */
export function stateAfter(before: StoredState | null, ...statements: string[]): StoredState {
  const state = before?.copy() ?? new StoredState();
  inState(state, (database) => {
    database.run('BEGIN');
    for (const sql of statements) {
      if (/_cf_/.test(sql)) database.runOnce(sql);
      else database.exec(sql, []).toArray();
    }
    database.run('COMMIT');
  });
  return state;
}

/** The schema, and the rows of each table as literals; with the rowids of rows that have no key, or NULL in it. */
export function contentOfState(state: StoredState): unknown {
  return inState(state, (database) => {
    const schema = textsOf(
      database,
      "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY 1, 2",
    );
    const tables = textsOf(
      database,
      "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite_%' ORDER BY 1",
    );
    return [
      schema,
      ...tables.map(([name, isKeyed]) => [name, rowsOf(database, name!, isKeyed === '1')]),
    ];
  });
}

function rowsOf(database: Database, table: string, isKeyed: boolean): unknown {
  const columns = textsOf(
    database,
    `SELECT name, pk FROM pragma_table_xinfo('${table.replaceAll("'", "''")}') WHERE hidden <> 1`,
  );
  const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const names = columns.map(([name]) => name!.toLowerCase());
  const rowid = ['rowid', '_rowid_', 'oid'].find((one) => !names.includes(one));
  const key = columns.filter(([, place]) => place !== '0').map(([name]) => quoted(name!));
  const isNamed = key.length === 0 ? '0' : key.map((name) => `${name} IS NOT NULL`).join(' AND ');
  const own =
    isKeyed || rowid === undefined ? '0' : `CASE WHEN ${isNamed} THEN '' ELSE ${rowid} END`;
  const values = columns.map(([name]) => `quote(${quoted(name!)})`);
  return textsOf(database, `SELECT ${[own, ...values].join()} FROM ${quoted(table)}`)
    .map((row) => row.join('|'))
    .sort();
}

function textsOf(database: Database, sql: string): (string | null)[][] {
  const found: (string | null)[][] = [];
  const statement = database.statement(sql);
  while (statement.step()) {
    const cells = Array.from({ length: statement.columnCount }, (_, i) => i);
    found.push(cells.map((i) => (statement.columnIsNull(i) ? null : statement.columnText(i))));
  }
  return found;
}

/** The pages of a state. */
export async function pagesOf(state: StoredState): Promise<StatePages> {
  return new StatePages(state, new KeyOrder(await openInMemory()));
}

/** Calls `use` with the differences. `pages` are the pages that may differ, from 0 on; null if that is unknown. */
export function compare<T>(
  before: StoredState,
  after: StoredState,
  use: (differences: StateDifferences, database: Database) => T,
  pages: Iterable<number> | null = everyPage(before, after),
): T {
  const opened = openState(after);
  try {
    opened.attach(before, 'earlier');
    opened.database.trustOnly();
    return use(new StateDifferences(opened.database, [before, after], pages), opened.database);
  } finally {
    opened.close();
  }
}

function everyPage(...states: readonly StoredState[]): number[] {
  return [...Array(Math.max(...states.map(({ pageCount }) => pageCount))).keys()];
}

/** A difference in words; a row: its table, its key or rowid, and its values before and after. */
export function wordsOf(difference: StateDifference): unknown[] {
  if (difference.kind === 'table') return ['unnamed', difference.table];
  const { table, before, after } = difference;
  if (difference.kind === 'schema') return [difference.type, difference.name, before, after];
  const { key, rowid } = difference;
  const values = (row: readonly Cell[] | null) => row?.map(valueOfCell) ?? null;
  return [
    table,
    key === null ? Number(rowid) : values(key),
    values(difference.before),
    values(difference.after),
  ];
}

/** The differences in words. */
export function differencesOf(
  before: StoredState,
  after: StoredState,
  pages?: Iterable<number> | null,
): unknown[][] {
  return compare(before, after, (found) => [...found.all()].map(wordsOf), pages);
}

/** The result of an application. */
export interface Applied {
  /** The changes that were not made: the reason, the change, and the current row. */
  readonly conflicts: [reason: string, change: unknown[], now: unknown][];
  readonly isEmpty: boolean;
  readonly tables: string[];
  /** The state with the changes that were made, without those in conflict. */
  readonly state: StoredState;
}

/** Applies the changes from `before` to `after` to a copy of `ours`. `always`: also those in conflict. @throws RefusedChanges */
export function apply(
  ours: StoredState,
  before: StoredState,
  after: StoredState,
  always = false,
  beforeRun: (state: StoredState) => void = () => {},
): Applied {
  const state = ours.copy();
  return compare(before, after, (differences) =>
    inState(state, (database) => {
      database.run('BEGIN');
      const application = new Application(database, differences);
      for (const change of differences.all()) application.add(change, always);
      const { isEmpty } = application;
      beforeRun(state);
      database.trusted(() => application.run());
      database.run('COMMIT');
      const conflicts = application.conflicts.map(
        ({ reason, change, now }): Applied['conflicts'][number] => [
          reason,
          wordsOf(change),
          now?.map(valueOfCell) ?? now,
        ],
      );
      return { conflicts, isEmpty, tables: [...application.tables].sort(), state };
    }),
  );
}

/** A comparison as an object opens it, which counts its calls. */
export interface WatchedComparison {
  readonly comparison: Comparison;
  /** How often each state was used, and closed. */
  readonly used: [before: number, after: number];
  readonly closed: [before: number, after: number];
  readonly events: DatabaseEvents;
  readonly openDatabases: Set<LogDatabase>;
  /** From now on, each use of the state of that side throws this error. */
  end(side: 0 | 1, reason: Error): void;
}

export function watchedComparison(before: StoredState, after: StoredState): WatchedComparison {
  const used: [number, number] = [0, 0];
  const closed: [number, number] = [0, 0];
  const ended: (Error | undefined)[] = [undefined, undefined];
  const openDatabases = new Set<LogDatabase>();
  let given: DatabaseEvents | undefined;
  const readable = (stored: StoredState, side: 0 | 1): ReadableState => {
    const state = stored.copy();
    Object.defineProperty(state, 'ended', { get: () => ended[side] });
    return {
      state: state as unknown as PastState,
      use() {
        used[side]++;
        if (ended[side]) throw ended[side];
      },
      close: () => void closed[side]++,
    };
  };
  const comparison = new Comparison({
    before: readable(before, 0),
    after: readable(after, 1),
    openDatabase(store, events) {
      given = events;
      const opened = openLogDatabase(sqlite, store, events, undefined, () =>
        openDatabases.delete(opened),
      );
      openDatabases.add(opened);
      return opened;
    },
    isCancelled: () => false,
  });
  return {
    comparison,
    used,
    closed,
    events: given!,
    openDatabases,
    end: (side, reason) => void (ended[side] = reason),
  };
}
