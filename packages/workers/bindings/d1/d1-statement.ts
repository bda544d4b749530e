// A prepared statement of D1 with its bound values. `bind` returns a new statement, and each statement may run several
// times.

import type { D1Meta, D1Query, D1Rows, D1Value } from './d1-object.ts';

/** The database or session that runs a prepared statement. */
export interface D1Runner {
  /** Returns one result for each query that has a statement, in their order. @throws Error D1_ERROR if one fails */
  run(queries: readonly D1Query[]): Promise<readonly D1Rows[]>;
}

export interface D1Result {
  readonly success: true;
  readonly meta: D1Meta;
  readonly results: Record<string, unknown>[];
}

export function d1Error(kind: string, fact: string, cause = fact): Error {
  return new Error(`${kind}: ${fact}`, { cause: new Error(cause) });
}

// The runner is in a member with a symbol, not in a private one, which a Proxy of a statement, and an object that
// inherits from it, would not have. On workerd, methods work on both.
const RUNNER: unique symbol = Symbol('runner');

export class D1PreparedStatement {
  readonly [RUNNER]: D1Runner;
  readonly statement: string;
  readonly params: readonly D1Value[];

  constructor(runner: D1Runner, statement: string, params: readonly D1Value[] = []) {
    this[RUNNER] = runner;
    this.statement = statement;
    this.params = params;
  }

  bind(...values: unknown[]): D1PreparedStatement {
    return new D1PreparedStatement(this[RUNNER], this.statement, values.map(toBoundValue));
  }

  /**
   * Returns the first row, or the value of one column of it; null if there is no row.
   *
   * @throws Error if the column is missing
   */
  async first(column?: string): Promise<unknown> {
    const [row] = resultOf(await rowsOf(this)).results;
    if (row === undefined) return null;
    if (column === undefined) return row;
    const value = row[column];
    if (value !== undefined) return value;
    throw d1Error('D1_COLUMN_NOTFOUND', `Column not found (${column})`, 'Column not found');
  }

  async run(): Promise<D1Result> {
    return this.all();
  }

  async all(): Promise<D1Result> {
    return resultOf(await rowsOf(this));
  }

  /** Returns the rows as arrays of values, after the names of the columns if `columnNames` is true. */
  async raw(options?: { readonly columnNames?: boolean }): Promise<unknown[]> {
    const { columns, rows } = await rowsOf(this);
    return options?.columnNames ? [columns, ...rows] : [...rows];
  }
}

async function rowsOf(given: D1PreparedStatement): Promise<D1Rows> {
  const { statement: sql, params, [RUNNER]: runner } = given;
  const [rows] = await runner.run([{ sql, params }]);
  return rows!;
}

export function resultOf({ columns, rows, meta }: D1Rows): D1Result {
  const results = rows.map((row) =>
    Object.fromEntries(row.map((value, column) => [columns[column]!, value])),
  );
  return { success: true, meta, results };
}

/** Converts a value that the caller binds. @throws Error D1_TYPE_ERROR if SQLite has no such type */
function toBoundValue(value: unknown): D1Value {
  if (value === null || typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  // D1 sends values as JSON, which has neither NaN nor infinities nor -0: they become null, null and 0.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  // Each element of a view becomes one byte, the lowest of a larger element. A DataView has no elements, so it becomes
  // empty.
  if (ArrayBuffer.isView(value)) return Uint8Array.from(value as Uint8Array);
  if (Array.isArray(value) && value.every(isByte)) return Uint8Array.from(value);
  const fact = `Type '${typeof value}' not supported for value '${value}'`;
  throw d1Error('D1_TYPE_ERROR', fact);
}

function isByte(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < 256;
}
