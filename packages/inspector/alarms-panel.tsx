// The panel of alarms: it lists which alarm is due when, and has the controls of the objects' clock if the inspector
// got one.

import { followCommits } from '@ctx-storage/core/live';
import type { StorageHandle } from '@ctx-storage/core/storage';
import { useEffect, useState } from 'preact/hooks';
import { ClockControls } from './clock-controls.tsx';
import { type DrivenClock, stoppedTime, untilText } from './clock-time.ts';
import type { InspectedObjects } from './source.ts';
import { errorText, timeText } from './text.ts';

/** The most objects of a class whose alarms are read. */
const OBJECTS_MAX = 1000;
/**
 * How often alarms are read again. Only the open object reports its commits; other objects and the clock have no event.
 */
const REFRESH_MS = 2000;

interface AlarmsProps {
  /** The connection whose alarms are shown; without it, only the alarm of `storage` is. */
  readonly objects?: InspectedObjects;
  readonly storage: StorageHandle | null;
  /** The clock that the panel can move, or null if it only shows the time. */
  readonly clock: DrivenClock | null;
}

interface Alarm {
  readonly owner: string;
  readonly dueMs: number;
}

export function AlarmsPanel({ objects, storage, clock }: AlarmsProps) {
  const [alarms, setAlarms] = useState<readonly Alarm[]>([]);
  const [nowMs, setNowMs] = useState(Date.now());
  const [heldMs, setHeldMs] = useState<number | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [moveCount, setMoves] = useState(0);
  useEffect(() => {
    let isOver = false;
    const load = async () => {
      try {
        const found = await (objects === undefined ? alarmOf(storage!) : alarmsOf(objects));
        const clockMs = (await clock?.now()) ?? Date.now();
        if (isOver) return;
        setAlarms(found);
        setNowMs(clockMs);
        setHeldMs((before) => stoppedTime(clockMs, Date.now(), before));
        setProblem(null);
      } catch (error) {
        if (!isOver) setProblem(errorText(error));
      }
    };
    void load();
    const timer = setInterval(load, REFRESH_MS);
    const end = storage && followCommits(storage, load, (error) => setProblem(errorText(error)));
    return () => {
      isOver = true;
      clearInterval(timer);
      end?.();
    };
  }, [objects, storage, clock, moveCount]);
  const onMoved = (toMs: number | null) => {
    setHeldMs(toMs);
    setMoves(moveCount + 1);
  };
  return (
    <div class="panel">
      {clock !== null && (
        <ClockControls
          clock={clock}
          heldMs={heldMs}
          hasAlarm={alarms.length > 0}
          onMoved={onMoved}
        />
      )}
      {problem !== null && <p role="alert">{problem}</p>}
      {alarms.length === 0 ? (
        problem === null && <p class="empty">No alarm is set.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll it
        <section class="scroll" tabIndex={0} aria-label="Alarms">
          <table>
            <thead>
              <tr>
                <th scope="col">Object</th>
                <th scope="col">Due</th>
                <th scope="col">At</th>
              </tr>
            </thead>
            <tbody>
              {alarms.map(({ owner, dueMs }) => (
                <tr key={owner}>
                  <td>{owner}</td>
                  <td>{untilText(dueMs, nowMs)}</td>
                  <td>{timeText(dueMs)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}

async function alarmOf(storage: StorageHandle): Promise<Alarm[]> {
  const dueMs = await storage.getAlarm();
  return dueMs === null ? [] : [{ owner: 'This object', dueMs }];
}

/** Returns the alarms of all classes. Each object is listed once, although its class may be bound several times. */
async function alarmsOf({ env, list }: InspectedObjects): Promise<Alarm[]> {
  const names = Object.keys(env);
  const lists = names.map((name) => list(name as never, { limit: OBJECTS_MAX }));
  const found = new Map<string, Alarm>();
  for (const { className, id, nextAlarm } of (await Promise.all(lists)).flat()) {
    if (nextAlarm === null) continue;
    const owner = `${className} ${id.name ?? `${String(id).slice(0, 16)}…`}`;
    found.set(`${className} ${id}`, { owner, dueMs: nextAlarm });
  }
  return [...found.values()].sort((a, b) => a.dueMs - b.dueMs);
}
