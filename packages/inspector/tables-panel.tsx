// The panel of tables: a list of tables with their columns, and a grid of rows that follows every commit.

import type { SqlStorageValue, StorageHandle } from '@ctx-storage/core/storage';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { cellText, Grid, type GridWindow } from './grid.tsx';
import { fingerprintOf } from './stored-value.ts';
import {
  type Choice,
  countQuery,
  deleteQuery,
  rowsQuery,
  type Table,
  tablesOf,
  updateQuery,
  valuesOf,
} from './tables.ts';
import { countText, errorText } from './text.ts';
import { useChanges, useFollowed } from './use-followed.ts';

const SCHEMA = "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\'";

export function TablesPanel({ storage }: { readonly storage: StorageHandle }) {
  const [tables, setTables] = useState<readonly Table[]>([]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const { value: schema, error } = useFollowed(() => storage.sql.live(SCHEMA), [storage]);
  useEffect(() => {
    if (schema === undefined) return;
    tablesOf(storage).then(setTables, (failure) => setProblem(errorText(failure)));
  }, [schema]);
  const table = tables.find(({ name }) => name === chosen) ?? tables[0];
  return (
    <div class="panel split">
      <nav class="side" aria-label="Tables">
        {error !== undefined && <p role="alert">{errorText(error)}</p>}
        {problem !== null && <p role="alert">{problem}</p>}
        {tables.length === 0 && <p class="empty">No tables.</p>}
        <ul class="list">
          {tables.map(({ name, kind, columns }) => (
            <li key={name}>
              <button
                type="button"
                class="row"
                aria-pressed={name === table?.name}
                onClick={() => setChosen(name)}
              >
                <span class="mono">{name}</span>
                <span class="type">{kind}</span>
              </button>
              {name === table?.name && (
                <ul class="columns">
                  {columns.map((column) => (
                    <li key={column.name}>
                      <span class="mono">{column.name}</span>{' '}
                      <span class="type">{column.type.toLowerCase()}</span>
                    </li>
                  ))}
                </ul>
              )}
            </li>
          ))}
        </ul>
      </nav>
      <section class="main" aria-label="Rows">
        {table !== undefined && <Rows key={table.name} storage={storage} table={table} />}
      </section>
    </div>
  );
}

interface RowsProps {
  readonly storage: StorageHandle;
  readonly table: Table;
}

function Rows({ storage, table }: RowsProps) {
  const [choice, setChoice] = useState<Choice>({ sort: null, filter: '' });
  const [view, setView] = useState<GridWindow>({ first: 0, count: 0 });
  const [editing, setEditing] = useState<{ row: number; column: number } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  // Rows are read in steps of fifty, so that not every scroll step causes a read.
  const first = Math.floor(view.first / 50) * 50;
  const count = Math.ceil((view.first + view.count - first) / 50) * 50 + 50;
  const inputs = [storage, table, choice] as const;
  const total = useFollowed(
    () => storage.sql.live<{ n: number }>(...countQuery(table, choice)),
    inputs,
  );
  const part = useFollowed(
    () => {
      if (view.count === 0) return null;
      const [query, ...bindings] = rowsQuery(table, choice, first, count);
      return storage.sql.live(query, ...bindings);
    },
    [...inputs, first, count],
    { first, subject: `${first} ${JSON.stringify(choice)}` },
  );
  const rows = useMemo(() => {
    const from = part.about?.first ?? 0;
    return new Map(part.value?.map((row, index) => [from + index, valuesOf(table, row)]));
  }, [part.value]);
  const texts = useMemo(() => {
    if (part.value === undefined) return undefined;
    return new Map([...rows].map(([index, row]) => [String(index), fingerprintOf(row)]));
  }, [rows]);
  const changed = useChanges(texts, part.about?.subject);
  const keysOf = (index: number) => rows.get(index)!.slice(table.columns.length);
  const attempt = async (query: string, ...bindings: SqlStorageValue[]) => {
    try {
      await storage.sql.exec(query, ...bindings).ready;
      setProblem(null);
    } catch (error) {
      setProblem(errorText(error));
    }
    setEditing(null);
  };
  const sortBy = (column: string) => {
    const isSame = choice.sort?.column === column;
    const sort = isSame && choice.sort?.isDescending ? null : { column, isDescending: isSame };
    setChoice({ ...choice, sort });
  };
  const error = total.error ?? part.error;
  return (
    <>
      <div class="actions">
        <label class="field inline">
          Filter
          <input
            type="search"
            value={choice.filter}
            onInput={(event) => setChoice({ ...choice, filter: event.currentTarget.value })}
          />
        </label>
        <span role="status">{countText(total.value?.[0]?.n ?? 0, 'row')}</span>
      </div>
      {error !== undefined && <p role="alert">{errorText(error)}</p>}
      {problem !== null && <p role="alert">{problem}</p>}
      <Grid
        label={`Rows of ${table.name}`}
        columns={table.columns.map(({ name }) => (
          <button key={name} type="button" class="plain" onClick={() => sortBy(name)}>
            {name}
            {choice.sort?.column === name && (choice.sort.isDescending ? ' ↓' : ' ↑')}
          </button>
        ))}
        rowCount={total.value?.[0]?.n ?? 0}
        row={(index) => rows.get(index)}
        isChanged={(index) => changed.has(String(index))}
        onWindow={setView}
        cell={(index, column, value) => {
          const name = table.columns[column]!.name;
          if (table.keys.length === 0 || value instanceof ArrayBuffer) return cellText(value);
          if (editing?.row === index && editing.column === column) {
            return (
              <CellEditor
                label={`${name} of row ${index + 1}`}
                value={value}
                store={(next) => attempt(updateQuery(table, name), next, ...keysOf(index))}
                remove={() => attempt(deleteQuery(table), ...keysOf(index))}
                cancel={() => setEditing(null)}
              />
            );
          }
          return (
            <button
              type="button"
              class="plain cell"
              aria-label={`Edit ${name} of row ${index + 1}: ${cellText(value)}`}
              onClick={() => setEditing({ row: index, column })}
            >
              {cellText(value)}
            </button>
          );
        }}
      />
    </>
  );
}

interface CellEditorProps {
  readonly label: string;
  readonly value: string | number | null;
  readonly store: (value: string | number | null) => void;
  readonly remove: () => void;
  readonly cancel: () => void;
}

/** Edits one cell. A cell that was a number stays a number if the typed text is one. */
function CellEditor({ label, value, store, remove, cancel }: CellEditorProps) {
  const [text, setText] = useState(value === null ? '' : String(value));
  const typed = typeof value !== 'string' && text.trim() !== '' ? Number(text) : Number.NaN;
  return (
    <form
      class="cell-editor"
      onSubmit={(event) => {
        event.preventDefault();
        store(Number.isNaN(typed) ? text : typed);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') cancel();
      }}
    >
      <input
        class="code"
        aria-label={label}
        value={text}
        ref={(input) => input?.focus()}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="submit">Store</button>
      <button type="button" onClick={() => store(null)}>
        NULL
      </button>
      <button type="button" class="danger" onClick={remove}>
        Delete row
      </button>
    </form>
  );
}
