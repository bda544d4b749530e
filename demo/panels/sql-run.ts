// One run of the SQL panel: a cursor, the rows pulled from it so far, and the time it took.
//
// Rows are read in batches on demand, so a statement with a million rows costs only what is shown.

import { signal } from '@preact/signals';
import type { RemoteSqlCursor, SqlStorageValue } from '../../src/index.ts';
import { dataChanged } from '../changes.ts';
import { problemOfCall, storage } from '../storage.ts';
import type { Problem } from '../ui/problem.ts';

const ROWS_PER_PAGE = 200;

type Row = SqlStorageValue[];
type Rows = ReturnType<RemoteSqlCursor['raw']>;

export interface Result {
  readonly columnNames: readonly string[];
  readonly rows: readonly Row[];
  /** True while the statement may have more rows. */
  readonly more: boolean;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  /** Time until the rows on screen had arrived. */
  readonly durationMs: number;
}

export type RunState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly startedMs: number }
  | { readonly kind: 'done'; readonly result: Result; readonly pulling: boolean }
  /** `result` contains the rows read before the failure, if any. */
  | { readonly kind: 'failed'; readonly problem: Problem; readonly result: Result | null };

export const query = signal('');
export const runState = signal<RunState>({ kind: 'idle' });

let current: { readonly cursor: RemoteSqlCursor; readonly rows: Rows } | null = null;
let runCount = 0;

/** Runs the text of the panel. */
export async function run(): Promise<void> {
  const text = query.value;
  if (text.trim() === '' || runState.value.kind === 'running') return;
  runCount += 1;
  const number = runCount;
  const startedMs = performance.now();
  runState.value = { kind: 'running', startedMs };
  endRun();
  try {
    const cursor = storage().sql.exec(text);
    current = { cursor, rows: cursor.raw() };
    await pull(number, [], startedMs);
  } catch (error) {
    runState.value = { kind: 'failed', problem: problemOfCall(error), result: null };
  }
  // The text does not show what a statement changed; reading again costs little.
  dataChanged();
}

/** Reads the next rows of the result on screen. */
export async function pullMore(): Promise<void> {
  const state = runState.value;
  if (state.kind !== 'done' || state.pulling || !state.result.more) return;
  runState.value = { ...state, pulling: true };
  try {
    const startedMs = performance.now() - state.result.durationMs;
    await pull(runCount, state.result.rows, startedMs);
  } catch (error) {
    const result = { ...state.result, more: false };
    runState.value = { kind: 'failed', problem: problemOfCall(error), result };
  }
}

async function pull(number: number, before: readonly Row[], startedMs: number): Promise<void> {
  const running = current;
  if (running === null) return;
  const { cursor, rows } = running;
  const pulled: Row[] = [];
  let more = true;
  while (more && pulled.length < ROWS_PER_PAGE) {
    const next = await rows.next();
    if (next.done === true) more = false;
    else pulled.push(next.value);
  }
  // Another run has replaced this one on screen.
  if (number !== runCount) return;
  const result: Result = {
    columnNames: cursor.columnNames,
    rows: [...before, ...pulled],
    more,
    rowsRead: cursor.rowsRead,
    rowsWritten: cursor.rowsWritten,
    durationMs: performance.now() - startedMs,
  };
  runState.value = { kind: 'done', result, pulling: false };
}

function endRun(): void {
  const ended = current;
  current = null;
  // If its statement failed or its worker stopped, the cursor is already closed.
  ended?.cursor.close().catch(problemOfCall);
}
