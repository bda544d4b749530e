// Shows the called object's history at the foot of the page: a tick for each commit, a slider over them, and buttons
// that undo a commit or restore a state.

import { counted, formatTime } from '../ui/format.ts';
import type { Commit } from './object-time.ts';
import { chosen, commits, goBack, opened, problem, takeBack, told, undo, unread } from './past.ts';
import { exists, moment } from './session.ts';

/** How many ticks may have labels; more labels would cover each other. */
const LABELLED_MAX = 9;

export function TimeBar() {
  if (!exists.value) return null;
  const time = opened.value;
  const newest = commits.value.at(-1);
  return (
    <section class="time-bar" aria-label="Time">
      {time === null || newest === undefined ? (
        <p class="hint">Reading the history…</p>
      ) : (
        <>
          <Track newest={newest} />
          <div class="time-line">
            <p class="time-said">
              {(told.value === null || chosen.value !== null) && <Said newest={newest} />}
              <span role="status">{chosen.value === null && <ToldText />}</span>
            </p>
            <div class="actions">
              <button
                type="button"
                title="Takes the whole object to this commit; it can be taken back"
                disabled={chosen.value === null || chosen.value === newest}
                onClick={() => void goBack(time, chosen.value!)}
              >
                Go back to here
              </button>
              <button
                type="button"
                title="Takes back this commit alone; later calls stay"
                onClick={() => void undo(time, chosen.value ?? newest)}
              >
                Undo that
              </button>
            </div>
          </div>
        </>
      )}
      {[unread.value, problem.value].map(
        (found, index) =>
          found !== null && (
            <p key={index} class="time-problem" role="alert">
              <code class="problem-code">{found.code}</code> {found.message}
            </p>
          ),
      )}
    </section>
  );
}

function Said({ newest }: { newest: Commit }) {
  const commit = chosen.value;
  if (commit === null) {
    return (
      <>
        <strong>Now</strong>, after <span>{newest.label}</span>.{' '}
        {commits.value.length > 1 &&
          `${counted(commits.value.length, 'commit')}: drag to look back.`}
      </>
    );
  }
  return (
    <>
      <strong>{commit.label}</strong>, {placeOf(commit)}
    </>
  );
}

function ToldText() {
  const said = told.value;
  if (said === null) return null;
  return (
    <>
      {said.subject !== '' && <strong>{said.subject}</strong>} {said.text}{' '}
      {said.undo !== null && (
        <button type="button" class="link" onClick={() => void takeBack(said)}>
          Take it back
        </button>
      )}
    </>
  );
}

function Track({ newest }: { newest: Commit }) {
  const list = commits.value;
  const current = chosen.value ?? newest;
  const last = list.length - 1;
  return (
    <div class="time-track">
      <ol
        class="ticks"
        aria-hidden="true"
        data-labelled={list.length <= LABELLED_MAX ? '' : undefined}
      >
        {list.map((commit, index) => (
          <li
            key={commit.bookmark}
            style={{ '--at': last === 0 ? 1 : index / last, '--share': 1 / list.length }}
            data-chosen={commit === current ? '' : undefined}
            data-restore={commit.isRestore ? '' : undefined}
          >
            <span>{commit.label}</span>
          </li>
        ))}
      </ol>
      <input
        type="range"
        aria-label="Moment"
        // With a single commit the range begins at -1, so that the thumb is at the end, as it is with several.
        min={last === 0 ? -1 : 0}
        max={last}
        value={list.indexOf(current)}
        aria-valuetext={
          current === newest
            ? `now, after ${newest.label}`
            : `${current.label}, ${placeOf(current)}`
        }
        onInput={({ currentTarget }) => {
          const place = Math.max(currentTarget.valueAsNumber, 0);
          moment.value = place === last ? null : list[place]!.bookmark;
        }}
      />
    </div>
  );
}

function placeOf(commit: Commit): string {
  const place = commits.value.indexOf(commit) + 1;
  return `${place} of ${commits.value.length}, at ${formatTime(commit.timeMs)}`;
}
