// Shows the page of the benchmark: the contenders, a run with its progress, and the result.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { formatDateTime } from '../ui/format.ts';
import { problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { SiteHead } from '../ui/site-head.tsx';
import { ContenderList } from './contender-list.tsx';
import { Documented } from './documented.tsx';
import { ResultRows, Summary } from './result-rows.tsx';
import {
  ALL,
  absent,
  circumstances,
  PLACE_LABELS,
  phase,
  removeEarlier,
  results,
  run,
  stop,
} from './run.ts';

const ROUND_COUNTS = [1, 3, 5];

export function BenchPage() {
  useEffect(removeEarlier, []);
  return (
    <div class="playground">
      <SiteHead current="./bench.html" />
      <main class="panel-body">
        <h2>How fast is storage in this browser?</h2>
        <p class="soft">
          This page stores the same data with each of these, in turns, and compares how long it
          takes. It runs on your device only, and deletes its data when it ends. Ratios are the
          result: times depend on the device and its other load.
        </p>
        <ContenderList />
        <Controls />
        <Progress />
        {results.value.length === 0 && phase.value.kind === 'idle' && <Documented />}
        <Facts />
        <Summary />
        <ResultRows />
      </main>
    </div>
  );
}

function Controls() {
  const chosen = useSignal('all');
  const rounds = useSignal(3);
  const { kind } = phase.value;
  const isRunning = kind === 'running' || kind === 'stopping';
  const start = () => {
    const wanted = ALL.filter(
      ({ row, place }) =>
        ['all', place].includes(chosen.value) || chosen.value === idOf(row, place),
    );
    void run(wanted, rounds.value);
  };
  return (
    <div class="actions">
      <label class="choice">
        Rows{' '}
        <select
          value={chosen}
          disabled={isRunning}
          onChange={(event) => (chosen.value = event.currentTarget.value)}
        >
          <option value="all">all {ALL.length}</option>
          {Object.entries(PLACE_LABELS).map(([place, label]) => (
            <optgroup key={place} label={label}>
              <option value={place}>all {label}</option>
              {ALL.filter((one) => one.place === place).map(({ row }) => (
                <option key={row.name} value={idOf(row, place)}>
                  {row.name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </label>
      <label class="choice">
        Rounds{' '}
        <select
          value={rounds}
          disabled={isRunning}
          onChange={(event) => (rounds.value = Number(event.currentTarget.value))}
        >
          {ROUND_COUNTS.map((count) => (
            <option key={count}>{count}</option>
          ))}
        </select>
      </label>
      {isRunning ? (
        <button type="button" disabled={kind === 'stopping'} onClick={stop}>
          Stop
        </button>
      ) : (
        <button type="button" class="primary" onClick={start}>
          {results.value.length === 0 ? 'Run' : 'Run again'}
        </button>
      )}
      {!isRunning && results.value.length > 0 && <CopyButton />}
    </div>
  );
}

function idOf(row: { readonly name: string }, place: string): string {
  return `${place}: ${row.name}`;
}

function CopyButton() {
  const said = useSignal('');
  const copy = async () => {
    try {
      const result = { ...circumstances.value, absent: absent.value, rows: results.value };
      await navigator.clipboard.writeText(JSON.stringify(result, null, 1));
      said.value = 'Copied';
    } catch (error) {
      said.value = `Not copied: ${problemOf(error).message}`;
    }
  };
  return (
    <>
      <button type="button" onClick={() => void copy()}>
        Copy as JSON
      </button>
      <span class="hint" role="status">
        {said}
      </span>
    </>
  );
}

function Progress() {
  const now = phase.value;
  switch (now.kind) {
    case 'idle':
      return (
        <p class="hint">
          A run of all rows takes about two minutes. Its result is kept in this browser.
        </p>
      );
    case 'running':
      return (
        <div class="bench-progress">
          <p>{now.said}</p>
          <progress aria-label="Rounds" max={now.of} value={now.done} />
        </div>
      );
    case 'stopping':
      return <p role="status">Stopping, and deleting the data…</p>;
    case 'busy':
      return <p role="status">Another tab runs the benchmark. Wait for it, or stop it there.</p>;
    case 'failed':
      return (
        <ProblemNote
          title="The run has failed"
          problem={{ code: 'FAILED', message: now.reason, retryable: true }}
        />
      );
    case 'ended':
      return (
        <p role="status">
          {now.how === 'done' ? 'Done.' : 'Stopped.'}{' '}
          {now.left.length === 0
            ? 'The data of the run is deleted.'
            : `Not deleted, until this page is opened again: ${now.left.join('; ')}`}
        </p>
      );
  }
}

function Facts() {
  const known = circumstances.value;
  if (known === null) return null;
  const { date, browser, cores, rounds, medium, wasHidden } = known;
  return (
    <div class="hint bench-facts">
      <p>
        {formatDateTime(Date.parse(date))} · {cores} cores · {rounds} round
        {rounds === 1 ? '' : 's'} · ctx-storage kept its data in {medium ?? 'nothing yet'}
      </p>
      <p>{browser}</p>
      {wasHidden && (
        <p>
          This tab was in the background for a time, where browsers slow tabs down: run it again.
        </p>
      )}
    </div>
  );
}
