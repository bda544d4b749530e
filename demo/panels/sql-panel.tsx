// The panel that runs SQL on the same database as the notes.

import { useEffect, useState } from 'preact/hooks';
import { counted, formatCount, formatDurationMs } from '../ui/format.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { ResultGrid } from './result-grid.tsx';
import { pullMore, query, type Result, type RunState, run, runState } from './sql-run.ts';

const EXAMPLES = [
  {
    label: 'Longest notes',
    sql: `SELECT id, title, length(body) AS characters
FROM notes
ORDER BY characters DESC`,
  },
  {
    label: 'Full-text search',
    sql: `SELECT title, snippet(notes_search, 1, '[', ']', '…', 8) AS found, rank
FROM notes_search
WHERE notes_search MATCH 'not* OR caf*'
ORDER BY rank`,
  },
  {
    label: 'Tables',
    sql: `SELECT type, name, sql
FROM sqlite_schema
ORDER BY name`,
  },
  {
    label: 'Types',
    sql: `SELECT NULL AS missing, 42 AS "integer", 0.1 + 0.2 AS "real",
  'Grüße 🎉' AS "text", x'53514c697465' AS "blob"`,
  },
  {
    label: '100,000 rows',
    sql: `WITH RECURSIVE numbers (n) AS (
  SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000
)
SELECT n, n * n AS square, printf('%x', n) AS hex FROM numbers`,
  },
  { label: 'A mistake', sql: 'SELECT * FROM nowhere' },
];

export function SqlPanel() {
  return (
    <div class="panel-body sql-panel">
      <div class="chips">
        <span class="chips-label" id="sql-examples">
          Examples
        </span>
        {EXAMPLES.map(({ label, sql }) => (
          <button
            key={label}
            type="button"
            class="chip"
            aria-describedby="sql-examples"
            onClick={() => {
              query.value = sql;
              void run();
            }}
          >
            {label}
          </button>
        ))}
      </div>
      <textarea
        class="code"
        aria-label="SQL"
        placeholder="SELECT * FROM notes"
        spellcheck={false}
        autocapitalize="off"
        rows={6}
        value={query}
        onInput={(event) => {
          query.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void run();
        }}
      />
      <div class="actions">
        <button
          type="button"
          class="primary"
          aria-keyshortcuts="Control+Enter Meta+Enter"
          disabled={query.value.trim() === '' || runState.value.kind === 'running'}
          onClick={() => void run()}
        >
          Run
        </button>
        <span class="key-hints" aria-hidden="true">
          <kbd>Ctrl</kbd>/<kbd>⌘</kbd>
          <kbd>Enter</kbd>
        </span>
      </div>
      <Outcome state={runState.value} />
    </div>
  );
}

function Outcome({ state }: { state: RunState }) {
  switch (state.kind) {
    case 'idle':
      return (
        <p class="empty">
          Statements run in the worker, on the database that holds the notes. Changes are real.
        </p>
      );
    case 'running':
      return <Running startedMs={state.startedMs} />;
    case 'failed':
      return (
        <>
          <ProblemNote title="The statement failed." problem={state.problem} />
          {state.result !== null && <Rows result={state.result} pulling={false} />}
        </>
      );
    case 'done':
      return <Rows result={state.result} pulling={state.pulling} />;
  }
}

function Running({ startedMs }: { startedMs: number }) {
  const [nowMs, setNowMs] = useState(startedMs);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 200);
    return () => clearInterval(timer);
  }, []);
  const elapsedMs = nowMs - startedMs;
  return (
    <p class="empty" role="status">
      Running{elapsedMs < 400 ? '…' : `, ${formatDurationMs(elapsedMs)}`}
      {elapsedMs > 5000 &&
        '. Everything else waits, as the worker does one thing at a time. Reloading the page that ' +
          'started the worker stops it.'}
    </p>
  );
}

function Rows({ result, pulling }: { result: Result; pulling: boolean }) {
  const { columnNames, rows, more, rowsRead, rowsWritten, durationMs } = result;
  const count = columnNames.length === 0 ? 'Done' : counted(rows.length, 'row');
  return (
    <>
      <p class="result-facts" role="status">
        <strong>
          {count}
          {more && ' so far'}
        </strong>
        <span>{formatCount(rowsRead)} read</span>
        <span>{formatCount(rowsWritten)} written</span>
        <span>{formatDurationMs(durationMs)}</span>
      </p>
      {columnNames.length > 0 && <ResultGrid columnNames={columnNames} rows={rows} />}
      {more && (
        <button type="button" class="more" disabled={pulling} onClick={() => void pullMore()}>
          {pulling ? 'Reading…' : 'More rows'}
        </button>
      )}
    </>
  );
}
