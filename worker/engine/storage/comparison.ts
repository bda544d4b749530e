// Compares two states of one object and its branches, and lists their differences.
//
// Differences of hidden tables are listed as keys and as the alarm. Invariant: both states stay unchanged while the
// comparison is open. If one of them is closed to make room for others, the next call throws MOMENT_CLOSED.

import type {
  ChangeBatch,
  ChangeCounts,
  WireChange,
} from '../../../src/shared/contract/changes.ts';
import type { SqlRow } from '../../../src/shared/contract/storage.ts';
import { type RowDifference, type StateDifference, StateDifferences } from '../diff/differences.ts';
import type { Row } from '../diff/row-reader.ts';
import type { Shape } from '../diff/shapes.ts';
import { differingPages } from '../log/page-layer.ts';
import type { PastState } from '../log/past-state.ts';
import { contentOf, integerOf, valueOfCell } from '../sql/cells.ts';
import { isHiddenName } from '../sql/reserved-names.ts';
import { sizeOfRow } from '../sql/statement.ts';
import type { LogDatabase } from './databases.ts';
import type { OpenDatabase } from './moment.ts';

/** Maximum number of changes in one batch. */
const CHANGES_MAX = 500;
const BYTES_MAX = 1 << 20;

export const KEYS_TABLE = '_cf_KV';
export const METADATA_TABLE = '_cf_METADATA';
const ALARM_KEY = 1n;
const NANOSECONDS = 1_000_000n;

/** A state to be compared, of the object or of one of its branches. */
export interface ReadableState {
  readonly state: PastState;
  /** Marks the state as used, so that others are closed before it. @throws the reason if it has ended */
  use(): void;
  /** Closes the state. Idempotent. */
  close(): void;
}

export interface ComparisonOptions {
  readonly before: ReadableState;
  readonly after: ReadableState;
  readonly openDatabase: OpenDatabase;
  readonly isCancelled: () => boolean;
}

export class Comparison {
  readonly #states: readonly [ReadableState, ReadableState];
  readonly #opened: LogDatabase;
  readonly #differences: StateDifferences;
  #walk: Generator<WireChange> | undefined;

  /** Opens the comparison. @throws CORRUPT, IO */
  constructor({ before, after, openDatabase, isCancelled }: ComparisonOptions) {
    this.#states = [before, after];
    const states = [before.state, after.state] as const;
    const events = { beforeWrite: refuse, onCritical: () => this.close(), isCancelled };
    this.#opened = openDatabase({ file: states[1] }, events);
    try {
      this.#opened.attach(states[0], 'earlier');
      this.#opened.database.trustOnly();
      const mayDiffer = differingPages(...states);
      this.#differences = new StateDifferences(this.#opened.database, states, mayDiffer);
    } catch (error) {
      this.#opened.close();
      throw error;
    }
  }

  /** True once the comparison can no longer be read. */
  get isClosed(): boolean {
    return this.#states.some(({ state }) => state.ended !== undefined);
  }

  /** Returns the next batch of changes. */
  next(): ChangeBatch {
    this.#use();
    this.#walk ??= visibleChanges(this.#differences.all());
    const changes: WireChange[] = [];
    let bytes = 0;
    while (changes.length < CHANGES_MAX && bytes < BYTES_MAX) {
      const { done, value } = this.#walk.next();
      if (done) return { changes, isLast: true };
      changes.push(value);
      bytes += sizeOf(value);
    }
    return { changes, isLast: false };
  }

  /** Skips the next `count` changes. */
  skip(count: number): void {
    this.#use();
    this.#walk ??= visibleChanges(this.#differences.all());
    for (let i = 0; i < count; i++) this.#walk.next();
  }

  /** The differences themselves, for a merge, which applies them to another state. */
  get differences(): StateDifferences {
    this.#use();
    return this.#differences;
  }

  count(): ChangeCounts {
    this.#use();
    // Use a Map: a table may be called `constructor`, for example.
    const tables = new Map<string, Counter>();
    const keys = new Counter();
    const unnamed: string[] = [];
    let schema = 0;
    let alarm = 0;
    for (const change of visibleChanges(this.#differences.all())) {
      if (change.kind === 'schema') schema++;
      else if (change.kind === 'alarm') alarm++;
      else if (change.kind === 'table') unnamed.push(change.table);
      else if (change.kind === 'key') keys.add(change);
      else {
        const counter = tables.get(change.table) ?? new Counter();
        tables.set(change.table, counter);
        counter.add(change);
      }
    }
    return { schema, alarm, keys: { ...keys }, tables: countsOf(tables), unnamed };
  }

  /** Closes both states. Idempotent. */
  close(): void {
    this.#walk?.return(undefined);
    for (const state of this.#states) state.close();
    this.#opened.close();
  }

  #use(): void {
    for (const state of this.#states) state.use();
  }
}

class Counter {
  added = 0;
  changed = 0;
  removed = 0;

  add({ before, after }: { readonly before: unknown; readonly after: unknown }): void {
    if (before === null) this.added++;
    else if (after === null) this.removed++;
    else this.changed++;
  }
}

function countsOf(tables: ReadonlyMap<string, Counter>): ChangeCounts['tables'] {
  return Object.fromEntries(Array.from(tables, ([name, counter]) => [name, { ...counter }]));
}

/** Lists the differences that programs may see, in the form in which they see them. */
function* visibleChanges(differences: Iterable<StateDifference>): Generator<WireChange> {
  for (const difference of differences) {
    const change = changeOf(difference);
    if (change !== null) yield change;
  }
}

/** Converts a difference for programs; returns null for a hidden table that they must not see. */
export function changeOf(difference: StateDifference): WireChange | null {
  if (difference.kind === 'row') {
    if (difference.table === KEYS_TABLE) return keyChange(difference);
    if (difference.table === METADATA_TABLE) return alarmChange(difference);
  }
  if (isHiddenName(difference.table)) return null;
  if (difference.kind !== 'row') return difference;
  const { table, shapes, before, after } = difference;
  return {
    kind: 'row',
    table,
    key: keyOf(difference),
    before: before && namedRow(before, shapes[0]!),
    after: after && namedRow(after, shapes[1]!),
  };
}

function keyOf({ key, rowid, shapes }: RowDifference): SqlRow {
  if (key === null) return { rowid: Number(rowid) };
  const names = (shapes[1] ?? shapes[0])!.key;
  return Object.fromEntries(names.map((name, i) => [name, valueOfCell(key[i]!)]));
}

export function namedRow(row: Row, { columns }: Shape): SqlRow {
  return Object.fromEntries(columns.map(({ name }, i) => [name, valueOfCell(row[i]!)]));
}

function keyChange({ before, after }: RowDifference): WireChange {
  const key = String(valueOfCell((before ?? after)![0]!));
  const bytes = (row: Row | null) => row && contentOf(row[1]!).slice();
  return { kind: 'key', key, before: bytes(before), after: bytes(after) };
}

function alarmChange({ key, before, after }: RowDifference): WireChange | null {
  if (key === null || integerOf(key[0]!) !== ALARM_KEY) return null;
  const [old, now] = [before, after].map((row) => {
    const time = row && integerOf(row[1]!);
    return time === null ? null : Number(time / NANOSECONDS);
  }) as [number | null, number | null];
  return old === now ? null : { kind: 'alarm', before: old, after: now };
}

function sizeOf(change: WireChange): number {
  const { kind } = change;
  if (kind === 'key') return (change.before?.length ?? 0) + (change.after?.length ?? 0);
  if (kind !== 'row') return 0;
  return [change.before, change.after].reduce(
    (sum, row) => sum + (row === null ? 0 : sizeOfRow(Object.values(row))),
    0,
  );
}

function refuse(): never {
  throw new Error('A comparison does not write.');
}
