// Shows the changes between two moments: keys and rows before and after, with marks on the cells that changed.

import type {
  KeyChange,
  RowChange,
  RowValues,
  SchemaChange,
  SqlStorageValue,
} from '@ctx-storage/core/storage';
import { type ChangeGroup, type Compared, excerpts, sizeOf, totalOf } from './compared.ts';
import { cellText } from './grid.tsx';
import { fingerprintOf, lineOf } from './stored-value.ts';
import { countText, timeText } from './text.ts';

export function CompareView({ compared }: { readonly compared: Compared }) {
  const { other, keys, tables, unnamed } = compared;
  if (sizeOf(compared) === 0) {
    return <p class="empty">Both have the same keys, rows and definitions.</p>;
  }
  const definitions = other.filter((change) => change.kind === 'schema');
  const alarm = other.find((change) => change.kind === 'alarm');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll it
    <section class="scroll compare" tabIndex={0} aria-label="What differs">
      {definitions.length > 0 && <Definitions changes={definitions} />}
      {alarm !== undefined && (
        <>
          <h2>Alarm</h2>
          <p>
            {alarmText(alarm.before)} → <mark>{alarmText(alarm.after)}</mark>
          </p>
        </>
      )}
      {totalOf(keys.count) > 0 && (
        <>
          <Heading name="Keys" kind={null} group={keys} noun="key" />
          <Keys changes={keys.shown} />
        </>
      )}
      {[...tables].map(([name, group]) => (
        <div key={name}>
          <Heading name={name} kind={tableChangeKind(name, definitions)} group={group} noun="row" />
          {group.shown.length > 0 && <Rows table={name} changes={group.shown} />}
        </div>
      ))}
      {unnamed.map((name) => (
        <div key={name}>
          <h2>{name}</h2>
          <p class="empty">This table differs. Its rows have no key, so they cannot be compared.</p>
        </div>
      ))}
    </section>
  );
}

type Kind = 'added' | 'changed' | 'removed';

function changeKind(before: unknown, after: unknown): Kind {
  if (before === null || before === undefined) return 'added';
  return after === null || after === undefined ? 'removed' : 'changed';
}

function tableChangeKind(name: string, definitions: readonly SchemaChange[]): Kind | null {
  const own = definitions.find((change) => change.type === 'table' && change.name === name);
  return own === undefined ? null : changeKind(own.before, own.after);
}

function KindBadge({ kind }: { readonly kind: Kind }) {
  return <span class={`kind ${kind}`}>{kind}</span>;
}

interface HeadingProps {
  readonly name: string;
  readonly kind: Kind | null;
  readonly group: ChangeGroup<unknown>;
  readonly noun: string;
}

function Heading({ name, kind, group, noun }: HeadingProps) {
  const total = totalOf(group.count);
  const parts = (['added', 'changed', 'removed'] as const)
    .filter((part) => group.count[part] > 0)
    .map((part) => `${countText(group.count[part], noun)} ${part}`);
  const left = total - group.shown.length;
  return (
    <h2>
      {name} {kind !== null && <KindBadge kind={kind} />}{' '}
      <span class="soft count">
        {parts.join(', ')}
        {left > 0 &&
          `; ${group.shown.length === 0 ? 'not shown' : `the first ${group.shown.length} are shown`}`}
      </span>
    </h2>
  );
}

function Definitions({ changes }: { readonly changes: readonly SchemaChange[] }) {
  return (
    <>
      <h2>Schema</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">Definition</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ type, name, before, after }) => (
            <tr key={`${type} ${name}`}>
              <td>
                {type} <span class="mono">{name}</span>{' '}
                <KindBadge kind={changeKind(before, after)} />
              </td>
              <td class="mono">{before ?? '–'}</td>
              <td class="mono">{after ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function Keys({ changes }: { readonly changes: readonly KeyChange[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Change</th>
          <th scope="col">Key</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ key, before, after }) => {
          const kind = changeKind(before, after);
          const [past, present] = linesOf(before, after);
          return (
            <tr key={key}>
              <td>
                <KindBadge kind={kind} />
              </td>
              <td class="mono">{key}</td>
              <td class="mono">{kind === 'changed' ? <del>{past}</del> : past}</td>
              <td class="mono">{kind === 'changed' ? <ins>{present}</ins> : present}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface RowsProps {
  readonly table: string;
  readonly changes: readonly RowChange[];
}

/** Shows the changed rows of a table. A changed row takes two lines, with its cells above each other. */
function Rows({ table, changes }: RowsProps) {
  const columns = [
    ...new Set(changes.flatMap(({ before, after }) => Object.keys(after ?? before ?? {}))),
  ];
  // A row without a primary key is named by its row number, which is not a column.
  const hasNames = changes.some(({ key }) =>
    Object.keys(key).some((name) => !columns.includes(name)),
  );
  return (
    <table aria-label={`Rows of ${table}`}>
      <thead>
        <tr>
          <th scope="col">Change</th>
          {hasNames && <th scope="col">Row</th>}
          <th scope="col">State</th>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      {changes.map(({ key, before, after }) => {
        const kind = changeKind(before, after);
        const lines = [before, after].filter((row) => row !== null).length;
        const differs = (column: string) =>
          kind === 'changed' && fingerprintOf(before?.[column]) !== fingerprintOf(after?.[column]);
        const line = (row: RowValues, state: 'Before' | 'After', isFirst: boolean) => (
          <tr key={state}>
            {isFirst && (
              <td rowSpan={lines}>
                <KindBadge kind={kind} />
              </td>
            )}
            {isFirst && hasNames && (
              <td rowSpan={lines} class="mono">
                {keyText(key)}
              </td>
            )}
            <th scope="row">{state}</th>
            {columns.map((column) => {
              const text = cellOf(row[column], (row === before ? after : before)?.[column]);
              return (
                <td key={column} class={differs(column) ? 'mono differs' : 'mono'}>
                  {!differs(column) ? text : row === before ? <del>{text}</del> : <ins>{text}</ins>}
                </td>
              );
            })}
          </tr>
        );
        return (
          <tbody key={keyText(key)}>
            {before !== null && line(before, 'Before', true)}
            {after !== null && line(after, 'After', before === null)}
          </tbody>
        );
      })}
    </table>
  );
}

/** Returns the columns of a row's key as text, such as "id 7". */
export function keyText(key: RowValues): string {
  return Object.entries(key)
    .map(([name, value]) => `${name} ${cellText(value)}`)
    .join(', ');
}

/** Returns two values as one line each, with "–" for a value that is missing. */
export function linesOf(before: unknown, after: unknown): readonly [string, string] {
  const [past, present] = [before, after].map((value) =>
    value === undefined ? '–' : lineOf(value),
  );
  return before === undefined || after === undefined
    ? [past!, present!]
    : excerpts(past!, present!);
}

function cellOf(value: SqlStorageValue | undefined, other: SqlStorageValue | undefined): string {
  if (value === undefined) return '–';
  if (typeof value !== 'string' || typeof other !== 'string') return cellText(value);
  return cellText(excerpts(value, other)[0]);
}

/** Returns the time of an alarm as text, or "none". */
export function alarmText(timeMs: number | null): string {
  return timeMs === null ? 'none' : timeText(timeMs);
}
