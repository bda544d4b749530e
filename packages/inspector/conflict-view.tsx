// Changes that cannot be made because the object has something else there by now: each is shown, and decided here.

import type {
  MergeDecision,
  RowValues,
  StorageChange,
  StorageConflict,
} from '@ctx-storage/core/storage';
import { useState } from 'preact/hooks';
import { alarmText, keyText } from './compare-view.tsx';
import { cellText } from './grid.tsx';
import { fingerprintOf, lineOf } from './stored-value.ts';
import { counted } from './text.ts';

/** At most so many conflicts come with an error. */
const LISTED_MAX = 100;

/** How conflicts are decided: an answer for each, by its name, and one for all beyond the list. */
export interface ConflictAnswers {
  readonly of: (conflict: StorageConflict) => MergeDecision | undefined;
}

export interface ConflictViewProps {
  readonly title: string;
  readonly conflicts: readonly StorageConflict[];
  readonly decide: (answers: ConflictAnswers) => void;
  readonly cancel: () => void;
}

export function ConflictView({ title, conflicts, decide, cancel }: ConflictViewProps) {
  const [given, setGiven] = useState<ReadonlyMap<string, MergeDecision>>(new Map());
  const names = conflicts.map(nameOf);
  const isCut = conflicts.length === LISTED_MAX;
  const wanted = isCut ? [...names, OTHERS] : names;
  const decided = wanted.filter((name) => given.has(name)).length;
  const answerAll = (answer: MergeDecision) =>
    setGiven(new Map(wanted.map((name) => [name, answer])));
  return (
    <section class="conflicts" aria-label="Conflicts">
      <h2>
        {title}: {counted(conflicts.length, 'conflict')}
        {isCut && ' or more'}
      </h2>
      <p>Nothing was changed yet. Decide each one: keep the data of now, or make the change.</p>
      <div class="actions">
        <button type="button" onClick={() => answerAll('ours')}>
          Keep all of now
        </button>
        <button type="button" onClick={() => answerAll('theirs')}>
          Make all changes
        </button>
      </div>
      {conflicts.map((conflict, index) => (
        <Conflict
          key={names[index]}
          number={index}
          conflict={conflict}
          answer={given.get(names[index]!)}
          give={(answer) => setGiven(new Map([...given, [names[index]!, answer]]))}
        />
      ))}
      {isCut && (
        <fieldset class="conflict">
          <legend>All other conflicts</legend>
          <Choice
            number={LISTED_MAX}
            answer={given.get(OTHERS)}
            give={(answer) => setGiven(new Map([...given, [OTHERS, answer]]))}
          />
        </fieldset>
      )}
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={decided < wanted.length}
          onClick={() =>
            decide({ of: (conflict) => given.get(nameOf(conflict)) ?? given.get(OTHERS) })
          }
        >
          Apply
        </button>
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <span role="status">
          {decided} of {wanted.length} decided
        </span>
      </div>
    </section>
  );
}

const OTHERS = 'others';

/** Names a conflict with the data that was shown: another one is asked again. */
function nameOf({ reason, change, now }: StorageConflict): string {
  return fingerprintOf([reason, change, now]);
}

const REASONS: Readonly<Record<StorageConflict['reason'], string>> = {
  changed: 'A later commit has changed it.',
  rows: 'The table has other rows by now.',
  unnamed: 'The rows of the table have no names.',
  constraint: 'A unique index, a foreign key or a check refuses the change.',
};

interface ConflictProps {
  readonly number: number;
  readonly conflict: StorageConflict;
  readonly answer: MergeDecision | undefined;
  readonly give: (answer: MergeDecision) => void;
}

function Conflict({ number, conflict, answer, give }: ConflictProps) {
  const { reason, change, now } = conflict;
  const columns = columnsOf(conflict);
  return (
    <fieldset class="conflict">
      <legend>{placeOf(change)}</legend>
      <p class="soft">{REASONS[reason]}</p>
      {columns === null ? (
        <dl>
          <dt>Before the change</dt>
          <dd class="mono">{textOf(change, 'before')}</dd>
          <dt>The change makes it</dt>
          <dd class="mono">
            <ins>{textOf(change, 'after')}</ins>
          </dd>
          {now !== undefined || change.kind === 'key' ? (
            <>
              <dt>Now</dt>
              <dd class="mono">{nowText(change, now)}</dd>
            </>
          ) : null}
        </dl>
      ) : (
        <RowTable columns={columns} conflict={conflict} />
      )}
      <Choice number={number} answer={answer} give={give} />
    </fieldset>
  );
}

interface RowTableProps {
  readonly columns: readonly string[];
  readonly conflict: StorageConflict;
}

/** The three states of a row, in lines. */
function RowTable({ columns, conflict: { change, now } }: RowTableProps) {
  if (change.kind !== 'row') return null;
  const lines = [
    ['Before the change', change.before],
    ['The change makes it', change.after],
    ['Now', now as RowValues | null],
  ] as const;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll it
    <section class="scroll-x" tabIndex={0} aria-label={`States of ${placeOf(change)}`}>
      <table>
        <thead>
          <tr>
            <td />
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(([title, row]) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              {row == null ? (
                <td colSpan={columns.length} class="soft">
                  no such row
                </td>
              ) : (
                columns.map((column) => {
                  const isOther =
                    fingerprintOf(row[column]) !== fingerprintOf(change.before?.[column]);
                  const text = row[column] === undefined ? '–' : cellText(row[column]);
                  return (
                    <td key={column} class={isOther ? 'mono differs' : 'mono'}>
                      {isOther ? <ins>{text}</ins> : text}
                    </td>
                  );
                })
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface ChoiceProps {
  readonly number: number;
  readonly answer: MergeDecision | undefined;
  readonly give: (answer: MergeDecision) => void;
}

function Choice({ number, answer, give }: ChoiceProps) {
  const choice = (value: MergeDecision, label: string) => (
    <label class="field inline">
      <input
        type="radio"
        name={`conflict-${number}`}
        checked={answer === value}
        onChange={() => give(value)}
      />
      {label}
    </label>
  );
  return (
    <div class="actions">
      {choice('ours', 'Keep the data of now (ours)')}
      {choice('theirs', 'Make the change (theirs)')}
    </div>
  );
}

function columnsOf({ change, now }: StorageConflict): string[] | null {
  if (change.kind !== 'row') return null;
  const rows = [change.after, change.before, now as RowValues | null | undefined];
  return [...new Set(rows.flatMap((row) => Object.keys(row ?? {})))];
}

function placeOf(change: StorageChange): string {
  switch (change.kind) {
    case 'key':
      return `Key ${change.key}`;
    case 'row':
      return `Row ${keyText(change.key)} of ${change.table}`;
    case 'alarm':
      return 'Alarm';
    case 'schema':
      return `${change.type} ${change.name}`;
    case 'table':
      return change.table === '' ? 'Foreign keys' : `Table ${change.table}`;
  }
}

function textOf(change: StorageChange, side: 'before' | 'after'): string {
  if (change.kind === 'key')
    return change[side] === undefined ? 'no such key' : lineOf(change[side]);
  if (change.kind === 'alarm') return alarmText(change[side]);
  if (change.kind === 'schema') return change[side] ?? 'not defined';
  return '–';
}

function nowText(change: StorageChange, now: unknown): string {
  if (change.kind === 'alarm') return alarmText(now as number | null);
  return now === undefined ? 'no such key' : lineOf(now);
}
