// When which alarm is due, and the objects' clock, where the inspector was given it.

import { followCommits } from '@ctx-storage/core/live';
import type { StorageHandle } from '@ctx-storage/core/storage';
import { useEffect, useState } from 'preact/hooks';
import { ClockControls } from './clock-controls.tsx';
import { type DrivenClock, heldTime, untilText } from './clock-time.ts';
import type { InspectedObjects } from './source.ts';
import { errorText, timeText } from './text.ts';

/** At most so many objects of a class are looked at. */
const LISTED = 1000;
/** Of the opened object, commits tell; other objects, and a clock that another tab moves, have no event. */
const AGAIN_MS = 2000;

interface AlarmsProps {
  /** Those of all its classes are shown; without it, that of the storage. */
  readonly objects?: InspectedObjects;
  readonly storage: StorageHandle | null;
  /** Null: time is only told. */
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
  const [moves, setMoves] = useState(0);
  useEffect(() => {
    let isOver = false;
    const load = async () => {
      try {
        const found = await (objects === undefined ? alarmOf(storage!) : alarmsOf(objects));
        const clockMs = (await clock?.now()) ?? Date.now();
        if (isOver) return;
        setAlarms(found);
        setNowMs(clockMs);
        setHeldMs((before) => heldTime(clockMs, Date.now(), before));
        setProblem(null);
      } catch (error) {
        if (!isOver) setProblem(errorText(error));
      }
    };
    void load();
    const timer = setInterval(load, AGAIN_MS);
    const end = storage && followCommits(storage, load, (error) => setProblem(errorText(error)));
    return () => {
      isOver = true;
      clearInterval(timer);
      end?.();
    };
  }, [objects, storage, clock, moves]);
  const onMoved = (toMs: number | null) => {
    setHeldMs(toMs);
    setMoves(moves + 1);
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

/** By name: a class may be bound more than once. */
async function alarmsOf({ env, list }: InspectedObjects): Promise<Alarm[]> {
  const names = Object.keys(env);
  const lists = names.map((name) => list(name as never, { limit: LISTED }));
  const found = new Map<string, Alarm>();
  for (const { className, id, nextAlarm } of (await Promise.all(lists)).flat()) {
    if (nextAlarm === null) continue;
    const owner = `${className} ${id.name ?? `${String(id).slice(0, 16)}…`}`;
    found.set(`${className} ${id}`, { owner, dueMs: nextAlarm });
  }
  return [...found.values()].sort((a, b) => a.dueMs - b.dueMs);
}
