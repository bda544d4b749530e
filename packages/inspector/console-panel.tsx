// The panel that runs SQL on the object. It shows rows and their cost or the plan of a query, stops a statement, and
// goes back to the moment before a write.

import { withSignal } from '@ctx-storage/core/calls';
import type { SqlStorageValue, StorageHandle } from '@ctx-storage/core/storage';
import { useRef, useState } from 'preact/hooks';
import { Chart } from './chart.tsx';
import { Grid } from './grid.tsx';
import { rowsAsFile, saveFile } from './row-text.ts';
import { SqlInput } from './sql-input.tsx';
import { countText, durationText, errorText } from './text.ts';

/** The most rows of a result that are read. */
const ROWS_MAX = 10_000;
const STATEMENTS_MAX = 50;
const FORMATS = ['csv', 'json'] as const;

interface Result {
  readonly columns: readonly string[];
  readonly rows: readonly SqlStorageValue[][];
  readonly hasMore: boolean;
  readonly rowsRead: number;
  readonly rowsWritten: number;
  readonly durationMs: number;
  /** The bookmark of the moment before the statement, or null if it wrote nothing. */
  readonly before: string | null;
}

type Run =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly stop: () => void }
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'failed'; readonly message: string };

export function ConsolePanel({ storage }: { readonly storage: StorageHandle }) {
  const [text, setText] = useState('');
  const [earlier, setEarlier] = useState<readonly string[]>([]);
  const [run, setRun] = useState<Run>({ kind: 'idle' });
  const [note, setNote] = useState<string | null>(null);
  const runs = useRef(0);
  const start = async (query: string) => {
    if (query.trim() === '' || run.kind === 'running') return;
    runs.current += 1;
    const number = runs.current;
    const controller = new AbortController();
    setNote(null);
    setEarlier([text, ...earlier.filter((other) => other !== text)].slice(0, STATEMENTS_MAX));
    setRun({ kind: 'running', stop: () => controller.abort(new Error('Stopped.')) });
    let next: Run;
    try {
      next = { kind: 'done', result: await resultOf(storage, query, controller.signal) };
    } catch (error) {
      next = { kind: 'failed', message: errorText(error) };
    }
    if (number === runs.current) setRun(next);
  };
  const goBack = async (bookmark: string) => {
    try {
      await storage.restore(bookmark);
      setRun({ kind: 'idle' });
      setNote('The object is as it was before the statement.');
    } catch (error) {
      setNote(errorText(error));
    }
  };
  return (
    <div class="panel">
      <SqlInput storage={storage} text={text} change={setText} run={() => start(text)} />
      <div class="actions">
        <button
          type="button"
          class="primary"
          aria-keyshortcuts="Control+Enter Meta+Enter"
          disabled={run.kind === 'running'}
          onClick={() => start(text)}
        >
          Run
        </button>
        <button
          type="button"
          disabled={run.kind === 'running'}
          onClick={() => start(`EXPLAIN QUERY PLAN ${text}`)}
        >
          Explain
        </button>
        <button
          type="button"
          class="danger"
          disabled={run.kind !== 'running'}
          onClick={() => run.kind === 'running' && run.stop()}
        >
          Stop
        </button>
        {earlier.length > 0 && (
          <label class="field inline">
            Earlier
            <select
              value=""
              onChange={(event) => {
                setText(event.currentTarget.value);
                event.currentTarget.value = '';
              }}
            >
              <option value="" />
              {earlier.map((query) => (
                <option key={query} value={query}>
                  {query.slice(0, 80)}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {note !== null && <p role="status">{note}</p>}
      {run.kind === 'running' && <p role="status">Running…</p>}
      {run.kind === 'failed' && <p role="alert">{run.message}</p>}
      {run.kind === 'done' && <Outcome result={run.result} goBack={goBack} />}
    </div>
  );
}

interface OutcomeProps {
  readonly result: Result;
  readonly goBack: (bookmark: string) => void;
}

function Outcome({ result, goBack }: OutcomeProps) {
  const { columns, rows, hasMore, rowsRead, rowsWritten, durationMs, before } = result;
  return (
    <>
      <div class="actions">
        <span role="status">
          {countText(rows.length, 'row')}
          {hasMore && ' and more'}, {rowsRead} read, {rowsWritten} written,{' '}
          {durationText(durationMs)}
        </span>
        {before !== null && (
          <button type="button" onClick={() => goBack(before)}>
            Go back to before this statement
          </button>
        )}
        {rows.length > 0 &&
          FORMATS.map((format) => (
            <button
              key={format}
              type="button"
              onClick={async () =>
                saveFile(`result.${format}`, await rowsAsFile(format, () => columns, rows))
              }
            >
              Save as {format.toUpperCase()}
            </button>
          ))}
      </div>
      <Chart columns={columns} rows={rows} />
      {columns.length > 0 && (
        <Grid
          label="Result"
          columns={columns}
          rowCount={rows.length}
          row={(index) => rows[index]}
        />
      )}
    </>
  );
}

async function resultOf(
  storage: StorageHandle,
  query: string,
  signal: AbortSignal,
): Promise<Result> {
  const bookmark = await storage.getCurrentBookmark();
  const startedMs = performance.now();
  const cursor = withSignal(storage, signal).sql.exec(query);
  const pulled = cursor.raw();
  const rows: SqlStorageValue[][] = [];
  let hasMore = false;
  for (let next = await pulled.next(); next.done !== true; next = await pulled.next()) {
    if (rows.length === ROWS_MAX) {
      hasMore = true;
      await cursor.close();
      break;
    }
    rows.push(next.value);
  }
  const durationMs = performance.now() - startedMs;
  const { columnNames: columns, rowsRead, rowsWritten } = cursor;
  const hasWritten =
    (await storage.getCurrentBookmark()) !== bookmark && rowsWritten + rows.length >= 0;
  const before = hasWritten ? bookmark : null;
  return { columns, rows, hasMore, rowsRead, rowsWritten, durationMs, before };
}
