// Shows when each alarm is due, and the clock of the objects, which the visitor may move without moving any other
// clock.

import { useSignal } from '@preact/signals';
import { formatDateTime, formatUntil } from '../ui/format.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import type { Calls } from './calls.ts';
import { heldMs, objects, refresh, runner } from './session.ts';

const HOUR_MS = 3_600_000;

export function Alarms() {
  const calls = runner.value?.calls;
  const alarms = objects.value
    .flatMap(({ nextAlarm, ...owner }) => (nextAlarm === null ? [] : [{ ...owner, nextAlarm }]))
    .sort((a, b) => a.nextAlarm - b.nextAlarm);
  if (calls === undefined || (alarms.length === 0 && heldMs.value === null)) return null;
  const nowMs = heldMs.value ?? Date.now();
  return (
    <section class="alarms" aria-label="Alarms">
      {alarms.length > 0 && (
        <ul class="entries" aria-label="Alarms that are set">
          {alarms.map(({ className, name, nextAlarm }) => (
            <li key={`${className}/${name}`} class="entry object-line">
              <span>
                Alarm of {className} “{name}”
              </span>
              <span class="entry-type" title={formatDateTime(nextAlarm)}>
                {formatUntil(nextAlarm, nowMs)}
              </span>
            </li>
          ))}
        </ul>
      )}
      <Clock calls={calls} hasAlarm={alarms.length > 0} />
    </section>
  );
}

function Clock({ calls, hasAlarm }: { calls: Calls; hasAlarm: boolean }) {
  const isMoving = useSignal(false);
  const said = useSignal('');
  const problem = useSignal<Problem | null>(null);
  const move = async (action: () => Promise<string>) => {
    isMoving.value = true;
    problem.value = null;
    said.value = '';
    try {
      said.value = await action();
    } catch (error) {
      problem.value = problemOf(error);
    }
    isMoving.value = false;
    await refresh();
  };
  const held = async (text = '') => {
    heldMs.value = await calls.now();
    return text;
  };
  const toNextAlarm = async () => {
    const ran = await calls.runNextAlarm();
    return held(
      ran === null ? 'No alarm is set.' : `The alarm of ${ran.className} “${ran.name}” ran.`,
    );
  };
  const advance = async () => {
    await calls.advance(HOUR_MS);
    return held();
  };
  const resume = async () => {
    await calls.resume();
    heldMs.value = null;
    return '';
  };
  return (
    <>
      <fieldset class="actions" aria-label="Clock of the objects" disabled={isMoving.value}>
        <button type="button" disabled={!hasAlarm} onClick={() => void move(toNextAlarm)}>
          To the next alarm
        </button>
        <button type="button" onClick={() => void move(advance)}>
          Advance 1 h
        </button>
        {heldMs.value !== null && (
          <button type="button" onClick={() => void move(resume)}>
            Back to real time
          </button>
        )}
      </fieldset>
      <p role="status">
        {heldMs.value !== null &&
          `The clock of all objects stands at ${formatDateTime(heldMs.value)}. `}
        {said}
      </p>
      {problem.value !== null && (
        <ProblemNote title="The clock was not moved." problem={problem.value} />
      )}
    </>
  );
}
