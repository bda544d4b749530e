// Shows the conflicts of a revert or merge, whose data the object has changed meanwhile. The user decides each conflict
// here.

import {
  LISTED_CONFLICTS_MAX,
  type MergeDecision,
  type RowValues,
  type StorageChange,
  type StorageConflict,
} from '@ctx-storage/core/storage';
import { useState } from 'preact/hooks';
import { alarmText, keyText } from './compare-view.tsx';
import { cellText } from './grid.tsx';
import { fingerprintOf, lineOf } from './stored-value.ts';
import { countText } from './text.ts';

/** The user's decisions: one for each listed conflict, and one for all conflicts that are not listed. */
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
  const [answers, setAnswers] = useState<ReadonlyMap<string, MergeDecision>>(new Map());
  const ids = conflicts.map(conflictId);
  const hasUnlisted = conflicts.length === LISTED_CONFLICTS_MAX;
  const wanted = hasUnlisted ? [...ids, OTHERS] : ids;
  const decided = wanted.filter((name) => answers.has(name)).length;
  const answerAll = (answer: MergeDecision) =>
    setAnswers(new Map(wanted.map((name) => [name, answer])));
  return (
    <section class="conflicts" aria-label="Conflicts">
      <h2>
        {title}: {countText(conflicts.length, 'conflict')}
        {hasUnlisted && ' or more'}
      </h2>
      <p>
        Nothing has been changed yet. For each conflict, keep the present data or make the change.
      </p>
      <div class="actions">
        <button type="button" onClick={() => answerAll('ours')}>
          Keep all present data
        </button>
        <button type="button" onClick={() => answerAll('theirs')}>
          Make all changes
        </button>
      </div>
      {conflicts.map((conflict, index) => (
        <Conflict
          key={ids[index]}
          number={index}
          conflict={conflict}
          answer={answers.get(ids[index]!)}
          give={(answer) => setAnswers(new Map([...answers, [ids[index]!, answer]]))}
        />
      ))}
      {hasUnlisted && (
        <fieldset class="conflict">
          <legend>All other conflicts</legend>
          <Choice
            number={LISTED_CONFLICTS_MAX}
            answer={answers.get(OTHERS)}
            give={(answer) => setAnswers(new Map([...answers, [OTHERS, answer]]))}
          />
        </fieldset>
      )}
      <div class="actions">
        <button
          type="button"
          class="primary"
          disabled={decided < wanted.length}
          onClick={() =>
            decide({ of: (conflict) => answers.get(conflictId(conflict)) ?? answers.get(OTHERS) })
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

/** Identifies a conflict together with the data that was shown. If the data changes, the decision no longer applies. */
function conflictId({ reason, change, now }: StorageConflict): string {
  return fingerprintOf([reason, change, now]);
}

const REASONS: Readonly<Record<StorageConflict['reason'], string>> = {
  changed: 'A later commit has changed this data.',
  rows: 'The rows of the table have changed since.',
  unnamed: 'The rows of the table have no key that could name them.',
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
      <legend>{placeText(change)}</legend>
      <p class="soft">{REASONS[reason]}</p>
      {columns === null ? (
        <dl>
          <dt>Before the change</dt>
          <dd class="mono">{textOf(change, 'before')}</dd>
          <dt>After the change</dt>
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

/** Shows the states of a row before the change, after it and now, one in each line. */
function RowTable({ columns, conflict: { change, now } }: RowTableProps) {
  if (change.kind !== 'row') return null;
  const lines = [
    ['Before the change', change.before],
    ['After the change', change.after],
    ['Now', now as RowValues | null],
  ] as const;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll it
    <section class="scroll-x" tabIndex={0} aria-label={`States of ${placeText(change)}`}>
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
      {choice('ours', 'Keep the present data (ours)')}
      {choice('theirs', 'Make the change (theirs)')}
    </div>
  );
}

function columnsOf({ change, now }: StorageConflict): string[] | null {
  if (change.kind !== 'row') return null;
  const rows = [change.after, change.before, now as RowValues | null | undefined];
  return [...new Set(rows.flatMap((row) => Object.keys(row ?? {})))];
}

function placeText(change: StorageChange): string {
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
