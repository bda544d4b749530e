// The commits of an object over time. A slider chooses a moment, whose state is read beside the present one;
// the object can be taken there, and back.

import { useEffect, useState } from 'preact/hooks';
import type { StorageCommit, StorageHandle } from '../contract/storage.ts';
import { COMPARED_MAX, type Difference, type Differences, differencesOf } from './differences.ts';
import { cellText } from './grid.tsx';
import { lineOf } from './stored-value.ts';
import { bytesText, counted, errorText, timeText } from './text.ts';
import { useCommits } from './use-commits.ts';

/** How many commits are drawn: the newest ones. */
const COMMITS = 400;
const BAR_HEIGHT = 48;
/** How many rows of a table are shown of those that differ. */
const SHOWN_MAX = 100;

export function TimelinePanel({ storage }: { readonly storage: StorageHandle }) {
  const [commits, setCommits] = useState<readonly StorageCommit[] | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [differences, setDifferences] = useState<Differences | null>(null);
  const [undo, setUndo] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const newest = commits?.at(-1)?.bookmark;

  useCommits(
    storage,
    async (isOver) => {
      const found = await storage.history({ limit: COMMITS });
      if (!isOver()) setCommits(found.reverse());
    },
    (error) => setProblem(errorText(error)),
  );

  useEffect(() => {
    setDifferences(null);
    if (chosen === null) return;
    let isOver = false;
    // While the slider moves, nothing is opened.
    const timer = setTimeout(async () => {
      try {
        const moment = await storage.at(chosen);
        try {
          const found = await differencesOf(moment, storage);
          if (!isOver) setDifferences(found);
          setProblem(null);
        } finally {
          await moment.close();
        }
      } catch (error) {
        if (!isOver) setProblem(errorText(error));
      }
    }, 150);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [storage, chosen, newest]);

  const goTo = async (bookmark: string) => {
    try {
      const before = await storage.restore(bookmark);
      setUndo(bookmark === undo ? null : before);
      setChosen(null);
      setProblem(null);
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  if (commits === null) return <Waiting problem={problem} />;
  const index = commits.findIndex(({ bookmark }) => bookmark === chosen);
  const commit = commits[index === -1 ? commits.length - 1 : index];
  if (commit === undefined) return <p class="panel empty">Nothing was committed yet.</p>;
  return (
    <div class="panel">
      <Bars commits={commits} chosen={commit} />
      <label class="field slider">
        Moment
        <input
          type="range"
          min={0}
          max={commits.length - 1}
          value={commits.indexOf(commit)}
          aria-valuetext={describe(commit)}
          onInput={(event) => setChosen(commits[event.currentTarget.valueAsNumber]!.bookmark)}
        />
      </label>
      <div class="actions">
        <span role="status">{describe(commit)}</span>
        <button type="button" disabled={chosen === null} onClick={() => goTo(commit.bookmark)}>
          Go back to here
        </button>
        {undo !== null && (
          <button type="button" onClick={() => goTo(undo)}>
            Undo going back
          </button>
        )}
        {chosen !== null && (
          <button type="button" onClick={() => setChosen(null)}>
            Now
          </button>
        )}
      </div>
      {problem !== null && <p role="alert">{problem}</p>}
      {chosen !== null && differences === null && problem === null && <p class="empty">Reading…</p>}
      {differences !== null && <DifferenceList differences={differences} />}
      {chosen === null && (
        <p class="empty">
          Move the slider to see what has changed since a moment. The log tells when a commit was
          made and what it took, not which statement made it.
        </p>
      )}
    </div>
  );
}

function Waiting({ problem }: { readonly problem: string | null }) {
  return (
    <div class="panel">
      {problem === null ? <p class="empty">Reading…</p> : <p role="alert">{problem}</p>}
    </div>
  );
}

function describe({ time, bytes, pages, isRestore }: StorageCommit): string {
  const facts = `${timeText(time)}, ${bytesText(bytes)} in the log, ${counted(pages, 'page')}`;
  return isRestore ? `${facts}, went back` : facts;
}

interface BarsProps {
  readonly commits: readonly StorageCommit[];
  readonly chosen: StorageCommit;
}

/** A bar for each commit: its height is the logarithm of its bytes. */
function Bars({ commits, chosen }: BarsProps) {
  const most = Math.max(...commits.map(({ bytes }) => Math.log2(bytes)));
  const height = (bytes: number) => (Math.log2(bytes) / most) * BAR_HEIGHT;
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${commits.length * 4} ${BAR_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {commits.map((commit, index) => (
        <rect
          key={commit.bookmark}
          class={commit === chosen ? 'bar chosen' : commit.isRestore ? 'bar restore' : 'bar'}
          x={index * 4}
          y={BAR_HEIGHT - height(commit.bytes)}
          width={3}
          height={height(commit.bytes)}
        />
      ))}
    </svg>
  );
}

function DifferenceList({ differences }: { readonly differences: Differences }) {
  const { keys, areKeysCut, tables } = differences;
  if (keys.length === 0 && tables.length === 0) {
    return <p class="empty">No key and no row differs between then and now.</p>;
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll it
    <section class="scroll" tabIndex={0} aria-label="What differs">
      {keys.length > 0 && (
        <>
          <h2>{counted(keys.length, 'key')}</h2>
          {areKeysCut && <p class="empty">Of the first {COMPARED_MAX} keys.</p>}
          <Rows differences={keys} text={lineOf} columns={['Value']} />
        </>
      )}
      {tables.map((table) => (
        <div key={table.name}>
          <h2>
            {table.name} <span class={`kind ${table.kind}`}>{table.kind}</span>{' '}
            {counted(table.rows.length, 'row')}
          </h2>
          {table.isCut && <p class="empty">Of the first {COMPARED_MAX} rows.</p>}
          {table.rows.length > SHOWN_MAX && <p class="empty">The first {SHOWN_MAX} are shown.</p>}
          <Rows
            differences={table.rows.slice(0, SHOWN_MAX)}
            text={(row) => row.map(cellText).join(' · ')}
            columns={[table.columns.join(' · ')]}
          />
        </div>
      ))}
    </section>
  );
}

interface DifferenceRowsProps<T> {
  readonly differences: readonly Difference<T>[];
  readonly text: (value: T) => string;
  readonly columns: readonly string[];
}

function Rows<T>({ differences, text, columns }: DifferenceRowsProps<T>) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Since then</th>
          <th scope="col">Key</th>
          <th scope="col">Then: {columns}</th>
          <th scope="col">Now: {columns}</th>
        </tr>
      </thead>
      <tbody>
        {differences.map(({ name, kind, past, now }) => (
          <tr key={name}>
            <td>
              <span class={`kind ${kind}`}>{kind}</span>
            </td>
            <td class="mono">{name}</td>
            <td class="mono">{past === undefined ? '–' : text(past)}</td>
            <td class="mono">{now === undefined ? '–' : text(now)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
