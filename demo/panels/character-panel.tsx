// Shows the panel that loads, searches and removes the data set.

import { CHARACTER_COUNT, type Character, formatCodepoint } from '../dataset.ts';
import { counted, formatCount, formatDurationMs } from '../ui/format.ts';
import { MarkedText } from '../ui/marked-text.tsx';
import { showToast } from '../ui/messages.tsx';
import { ProblemNote } from '../ui/problem-note.tsx';
import {
  cancelImport,
  characterSearch,
  found,
  type ImportState,
  importState,
  isComplete,
  readProblem,
  removeDataset,
  rowsPerSecond,
  startImport,
  storedCount,
} from './characters.ts';

const TOTAL = formatCount(CHARACTER_COUNT);

export function CharacterPanel() {
  const count = storedCount.value;
  return (
    <div class="panel-body">
      {readProblem.value !== null && (
        <ProblemNote title="The data set cannot be read." problem={readProblem.value}>
          <button type="button" onClick={() => void removeDataset()}>
            Remove it
          </button>
        </ProblemNote>
      )}
      <Import state={importState.value} count={count} />
      {count !== null && count > 0 && <Search />}
    </div>
  );
}

function Import({ state, count }: { state: ImportState; count: number | null }) {
  if (state.kind === 'running') {
    const { rows } = state.progress;
    return (
      <div class="card">
        <div class="progress-line">
          <span>
            {formatCount(rows)} of {TOTAL} rows stored
          </span>
          <button type="button" onClick={cancelImport}>
            Cancel
          </button>
        </div>
        <progress aria-label="Rows stored" max={CHARACTER_COUNT} value={rows} />
      </div>
    );
  }
  const problem = state.kind === 'failed' && (
    <ProblemNote title="The data set is not loaded completely." problem={state.problem} />
  );
  if (count === null) return problem || <p class="empty">Counting rows…</p>;
  if (count === 0) {
    return (
      <>
        {problem}
        <div class="empty">
          <p class="empty-title">Every character of Unicode</p>
          <p>
            A data set to try the database on: the names of {TOTAL} characters, searchable by word.
            It takes about 5 MiB here, and can be removed.
          </p>
          <button type="button" class="primary" onClick={() => void startImport()}>
            Load {TOTAL} rows
          </button>
        </div>
      </>
    );
  }
  return (
    <>
      {problem}
      <div class="card">
        <p class="result-facts" role="status">
          <strong>
            {isComplete(count) ? counted(count, 'row') : `${formatCount(count)} of ${TOTAL} rows`}
          </strong>
          <Summary state={state} />
        </p>
        <div class="actions">
          <button type="button" onClick={() => void startImport()}>
            {isComplete(count) ? 'Load again' : 'Load the rest'}
          </button>
          <button type="button" class="quiet" onClick={() => void removeDataset()}>
            Remove
          </button>
        </div>
      </div>
    </>
  );
}

function Summary({ state }: { state: ImportState }) {
  if (state.kind === 'cancelled') return <span>Cancelled; stored data stays.</span>;
  if (state.kind !== 'done') return null;
  const { batches, durationMs } = state.progress;
  return (
    <>
      <span>{formatCount(rowsPerSecond(state.progress))} rows/s</span>
      <span>
        {counted(batches, 'transaction')} in {formatDurationMs(durationMs)}
      </span>
    </>
  );
}

function Search() {
  const { characters, total } = found.value;
  return (
    <>
      <input
        class="search"
        type="search"
        aria-label="Search characters"
        placeholder="arrow left, ½ or U+1F600"
        autocomplete="off"
        spellcheck={false}
        value={characterSearch}
        onInput={(event) => {
          characterSearch.value = event.currentTarget.value;
        }}
      />
      {characterSearch.value.trim() !== '' && (
        <p class="list-count" role="status">
          {formatCount(total)} found
          {total > characters.length && `, the best ${characters.length} shown`}
        </p>
      )}
      <ul class="characters">
        {characters.map((character) => (
          <CharacterLine key={character.codepoint} character={character} />
        ))}
      </ul>
    </>
  );
}

function CharacterLine({ character }: { character: Character }) {
  const { codepoint, character: glyph, name, category, block } = character;
  return (
    <li>
      <button type="button" class="character" title="Copy" onClick={() => void copy(glyph)}>
        <span class="glyph">{category.startsWith('M') ? `◌${glyph}` : glyph}</span>
        <span class="character-name">
          <MarkedText text={name} />
        </span>
        <span class="character-facts">
          {formatCodepoint(codepoint)} · {category} · {block}
        </span>
      </button>
    </li>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast({ text: `Copied ${text}` });
  } catch (error) {
    showToast({ text: `Not copied: ${error instanceof Error ? error.message : String(error)}` });
  }
}
