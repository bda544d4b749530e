// Moves the objects' time, so that an alarm runs now. Only where a clock was handed over for that.

import { useState } from 'preact/hooks';
import type { DrivenClock } from './clock-time.ts';
import { errorText, timeText } from './text.ts';

const HOUR_MS = 3_600_000;

interface ClockControlsProps {
  readonly clock: DrivenClock;
  /** Where the clock stands; null: it follows the system. */
  readonly heldMs: number | null;
  readonly hasAlarm: boolean;
  /** The clock was moved, to where it stands now. */
  readonly onMoved: (heldMs: number | null) => void;
}

export function ClockControls({ clock, heldMs, hasAlarm, onMoved }: ClockControlsProps) {
  const [isMoving, setMoving] = useState(false);
  const [said, setSaid] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const move = async (action: () => Promise<string>, isHeld = true) => {
    setMoving(true);
    setProblem(null);
    try {
      setSaid(await action());
      onMoved(isHeld ? await clock.now() : null);
    } catch (error) {
      setSaid('');
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
        {said}
      </p>
      {problem !== null && <p role="alert">{problem}</p>}
    </>
  );
}
