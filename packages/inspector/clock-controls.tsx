// The buttons that move the objects' clock, so that an alarm runs now. They are shown only if the inspector was given a
// clock.

import { useState } from 'preact/hooks';
import type { DrivenClock } from './clock-time.ts';
import { errorText, timeText } from './text.ts';

const HOUR_MS = 3_600_000;

interface ClockControlsProps {
  readonly clock: DrivenClock;
  /** The time at which the clock is stopped, or null while it follows the system. */
  readonly heldMs: number | null;
  readonly hasAlarm: boolean;
  /** Called after each move with the time at which the clock is stopped, or null. */
  readonly onMoved: (heldMs: number | null) => void;
}

export function ClockControls({ clock, heldMs, hasAlarm, onMoved }: ClockControlsProps) {
  const [isMoving, setMoving] = useState(false);
  const [result, setResult] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const move = async (action: () => Promise<string>, isHeld = true) => {
    setMoving(true);
    setProblem(null);
    try {
      setResult(await action());
      onMoved(isHeld ? await clock.now() : null);
    } catch (error) {
      setResult('');
      setProblem(errorText(error));
    }
    setMoving(false);
  };
  const toNextAlarm = async () => {
    const ran = await clock.runNextAlarm();
    if (ran === null) return 'No alarm is set.';
    return `The alarm of ${ran.className} “${ran.id.name ?? ran.id}” ran.`;
  };
  const advance = async () => {
    await clock.advance(HOUR_MS);
    return '';
  };
  const resume = async () => {
    await clock.resume();
    return '';
  };
  return (
    <>
      <fieldset class="actions clock" aria-label="Clock of the objects" disabled={isMoving}>
        <button type="button" disabled={!hasAlarm} onClick={() => void move(toNextAlarm)}>
          To the next alarm
        </button>
        <button type="button" onClick={() => void move(advance)}>
          Advance 1 h
        </button>
        {heldMs !== null && (
          <button type="button" onClick={() => void move(resume, false)}>
            Back to real time
          </button>
        )}
      </fieldset>
      <p role="status">
        {heldMs !== null && `The clock of all objects stands at ${timeText(heldMs)}. `}
        {result}
      </p>
      {problem !== null && <p role="alert">{problem}</p>}
    </>
  );
}
