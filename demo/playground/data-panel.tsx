// The storage of the object that is called: the objects there are, keys, tables, and statements.

import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { RemoteStorage, SqlStorageValue } from '../../src/index.ts';
import { ResultGrid } from '../panels/result-grid.tsx';
import { formatBytes, formatDateTime } from '../ui/format.ts';
import { describeType, formatValue } from '../ui/js-literal.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { objects, refresh, runner, target } from './session.ts';

const KEYS_MAX = 200;
const ROWS_MAX = 500;

const keys = signal<ReadonlyMap<string, unknown>>(new Map());
const tables = signal<readonly string[]>([]);
const storage = signal<RemoteStorage | null>(null);

export function DataPanel() {
  const { className, name } = target.value;
  const exists = objects.value.some((one) => one.className === className && one.name === name);
  useEffect(() => (exists ? follow() : undefined), [runner.value, className, name, exists]);
  return (
    <section class="side-panel" aria-label="Storage">
      <h2>Storage</h2>
      <Objects />
      {runner.value !== null && exists && storage.value !== null && (
        <>
          <Keys />
          <Sql storage={storage.value} />
        </>
      )}
    </section>
  );
}

/** Reads the object live, until the result is called. */
function follow(): () => void {
  const opened = runner.value?.storage(target.value);
  if (opened === null || opened === undefined) return () => {};
  let stop = () => {};
  let isOver = false;
  void opened.then(
    (handle) => {
      if (isOver) return handle.close();
      storage.value = handle;
      const followed = [
        handle.live({ limit: KEYS_MAX }).subscribe((found) => {
          keys.value = found ?? new Map();
          void refresh();
        }),
        handle.sql
          .live<{ name: string }>(
            "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
          )
          .subscribe((rows) => {
            // Names with _cf_ are the storage's own.
            tables.value = (rows ?? [])
              .map((row) => row.name)
              .filter((name) => !name.startsWith('_cf_'));
          }),
      ];
      stop = () => {
        for (const end of followed) end();
        handle.close();
      };
    },
    (error) => console.warn('The storage could not be opened.', error),
  );
  return () => {
    isOver = true;
    stop();
    storage.value = null;
    keys.value = new Map();
    tables.value = [];
  };
}

function Objects() {
  if (objects.value.length === 0) {
    return <p class="empty">An object exists once it has stored something.</p>;
  }
  return (
    <ul class="entries" aria-label="Objects">
      {objects.value.map(({ className, name, sizeBytes, nextAlarm }) => {
        const isTarget = className === target.value.className && name === target.value.name;
        return (
          <li key={`${className}/${name}`} class="entry object-line">
            <button
              type="button"
              class="quiet"
              aria-pressed={isTarget}
              onClick={() => {
                target.value = { className: String(className), name: String(name) };
              }}
            >
              {String(className)} “{String(name)}”
            </button>
            <span class="entry-type">
              {formatBytes(sizeBytes)}
              {nextAlarm !== null && `, alarm ${formatDateTime(nextAlarm)}`}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

function Keys() {
  if (keys.value.size === 0) return null;
  return (
    <ul class="entries" aria-label="Keys">
      {[...keys.value].map(([key, value]) => (
        <li key={key} class="entry">
          <code class="entry-key">{key}</code> <span class="entry-type">{describeType(value)}</span>
          <pre class="entry-value">{formatValue(value)}</pre>
        </li>
      ))}
    </ul>
  );
}

type Outcome =
  | { readonly kind: 'rows'; readonly names: readonly string[]; readonly rows: SqlStorageValue[][] }
  | { readonly kind: 'failed'; readonly problem: Problem };

function Sql({ storage: handle }: { storage: RemoteStorage }) {
  const text = useSignal('');
  const outcome = useSignal<Outcome | null>(null);
  const execute = async (query: string) => {
    text.value = query;
    try {
      const cursor = handle.sql.exec(query);
      const rows: SqlStorageValue[][] = [];
      for await (const row of cursor.raw()) {
        rows.push(row);
        if (rows.length === ROWS_MAX) break;
      }
      const names = cursor.columnNames;
      await cursor.close();
      outcome.value = { kind: 'rows', names, rows };
    } catch (error) {
      outcome.value = { kind: 'failed', problem: problemOf(error) };
    }
    await refresh();
  };
  return (
    <>
      <div class="chips">
        {tables.value.map((table) => (
          <button
            key={table}
            type="button"
            class="chip"
            onClick={() => void execute(`SELECT * FROM "${table.replaceAll('"', '""')}" LIMIT 100`)}
          >
            {table}
          </button>
        ))}
      </div>
      <form
        class="method"
        onSubmit={(event) => {
          event.preventDefault();
          void execute(text.value);
        }}
      >
        <input
          class="code"
          aria-label="SQL"
          placeholder="SELECT …"
          autocomplete="off"
          value={text}
          onInput={({ currentTarget: { value } }) => {
            text.value = value;
          }}
        />
        <button type="submit">Run SQL</button>
      </form>
      {outcome.value?.kind === 'failed' && (
        <ProblemNote title="The statement failed." problem={outcome.value.problem} />
      )}
      {outcome.value?.kind === 'rows' && outcome.value.names.length > 0 && (
        <ResultGrid columnNames={outcome.value.names} rows={outcome.value.rows} />
      )}
    </>
  );
}
