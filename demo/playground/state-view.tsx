// Shows the keys and tables of the called object as they change, and beside them their state at the chosen moment.

import { useMemo } from 'preact/hooks';
import { useChanges } from '../../packages/inspector/use-followed.ts';
import { formatCount } from '../ui/format.ts';
import { earlier, now, opened } from './past.ts';
import { target } from './session.ts';
import {
  type Change,
  changeOfRow,
  type Differences,
  type ShownRow,
  type ShownTable,
  type State,
} from './state.ts';

export function StateView() {
  const state = now.value;
  const past = earlier.value;
  const { className, name } = target.value;
  const texts = useMemo(() => (state === null ? undefined : textsOf(state)), [state]);
  const changed = useChanges(texts, `${className}/${name}`);
  if (state === null) return opened.value === null ? null : <p class="empty">Reading…</p>;
  return (
    <div class="state" data-beside={past === null ? undefined : ''}>
      {past !== null && (
        <section aria-label="Then">
          <h3>
            Then, after <span>{past.commit.label}</span>
          </h3>
          <Contents state={past.state} differences={past.differences} flashing={null} when="then" />
        </section>
      )}
      <section aria-label="Now">
        {past !== null && <h3>Now</h3>}
        <Contents
          state={state}
          differences={past?.differences ?? null}
          flashing={past === null ? changed : null}
          when="now"
        />
      </section>
    </div>
  );
}

interface ContentsProps {
  readonly state: State;
  readonly differences: Differences | null;
  /** The ids of the keys and rows that have just changed. */
  readonly flashing: ReadonlySet<string> | null;
  readonly when: 'now' | 'then';
}

function Contents({ state, differences, flashing, when }: ContentsProps) {
  const { keys, hasMoreKeys, tables } = state;
  if (keys.length === 0 && tables.length === 0) return <p class="empty">Nothing is stored.</p>;
  return (
    <>
      {keys.length > 0 && (
        <ul class="state-keys" aria-label={when === 'now' ? 'Keys' : 'Keys then'}>
          {keys.map(({ key, text }) => (
            <li
              key={key}
              data-change={differences?.keys.get(key) ?? undefined}
              data-flash={flashing?.has(keyId(key)) ? '' : undefined}
            >
              <Mark change={differences?.keys.get(key) ?? null} />
              <code>{key}</code> <code class="state-value">{text}</code>
            </li>
          ))}
        </ul>
      )}
      {hasMoreKeys && <p class="hint">The first {formatCount(keys.length)} keys are shown.</p>}
      {tables.map((table) => (
        <Rows
          key={table.name}
          table={table}
          differences={differences}
          flashing={flashing}
          when={when}
        />
      ))}
    </>
  );
}

interface RowsProps extends Pick<ContentsProps, 'differences' | 'flashing' | 'when'> {
  readonly table: ShownTable;
}

function Rows({ table, differences, flashing, when }: RowsProps) {
  const { name, columns, rows, count } = table;
  const label = when === 'now' ? `Table ${name}` : `Table ${name} then`;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll a wide table
    <section class="state-table" tabIndex={0} aria-label={label}>
      <table>
        <caption>
          {name}{' '}
          <span class="hint">
            {formatCount(count)}
            {differences?.unnamed.includes(name) && ', differs'}
          </span>
        </caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const change = differences && changeOfRow(differences, table, row);
            return (
              <tr
                key={row.id}
                data-change={change ?? undefined}
                data-flash={flashing?.has(rowId(table, row)) ? '' : undefined}
              >
                {row.texts.map((text, column) => (
                  <td key={column}>
                    {column === 0 && <Mark change={change} />}
                    {text}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {count > rows.length && <p class="hint">The first {formatCount(rows.length)} are shown.</p>}
    </section>
  );
}

const SIGNS: Readonly<Record<Change, string>> = { added: '+', changed: '~', removed: '−' };

function Mark({ change }: { change: Change | null }) {
  if (change === null) return null;
  return (
    <>
      <span class="state-sign" aria-hidden="true">
        {SIGNS[change]}
      </span>
      <span class="visually-hidden">{change}: </span>
    </>
  );
}

const keyId = (key: string) => `key ${key}`;
const rowId = ({ name }: ShownTable, { id }: ShownRow) => `row ${name} ${id}`;

function textsOf({ keys, tables }: State): ReadonlyMap<string, string> {
  const ofKeys = keys.map(({ key, print }): [string, string] => [keyId(key), print]);
  const ofRows = tables.flatMap((table) =>
    table.rows.map((row): [string, string] => [rowId(table, row), row.texts.join('\n')]),
  );
  return new Map([...ofKeys, ...ofRows]);
}
