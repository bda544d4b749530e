// The panel of objects: it lists the objects of a class with their size, branches and next alarm, and opens one.

import type { ObjectSummary } from '@ctx-storage/core/object';
import { useEffect, useState } from 'preact/hooks';
import type { InspectedObjects } from './source.ts';
import { bytesText, errorText, timeText } from './text.ts';

const OBJECTS_MAX = 100;
/** How often the list is read again, because no event reports new objects. */
const REFRESH_MS = 2000;

interface ObjectsProps {
  readonly objects: InspectedObjects;
  readonly open: (summary: ObjectSummary) => void;
  readonly openId: string | null;
}

export function ObjectsPanel({ objects, open, openId }: ObjectsProps) {
  const classes = Object.keys(objects.env);
  const [className, setClassName] = useState(classes[0] ?? '');
  const [listed, setListed] = useState<readonly ObjectSummary[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      try {
        const found = await objects.list(className as never, { limit: OBJECTS_MAX });
        if (isOver) return;
        setListed(found);
        setProblem(null);
      } catch (error) {
        if (!isOver) setProblem(errorText(error));
      }
      if (!isOver) timer = setTimeout(load, REFRESH_MS);
    };
    if (className !== '') void load();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [objects, className]);
  return (
    <div class="panel">
      <label class="field">
        Class
        <select value={className} onChange={(event) => setClassName(event.currentTarget.value)}>
          {classes.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {problem !== null && <p role="alert">{problem}</p>}
      {listed.length === 0 && problem === null && (
        <p class="empty">No object of {className} exists.</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards need to scroll it */}
      <section class="scroll" tabIndex={0} aria-label="Objects">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Id</th>
              <th scope="col">Files</th>
              <th scope="col">Branches</th>
              <th scope="col">Next alarm</th>
            </tr>
          </thead>
          <tbody>
            {listed.map((summary) => (
              <tr key={String(summary.id)}>
                <td>
                  <button
                    type="button"
                    aria-pressed={openId === String(summary.id)}
                    onClick={() => open(summary)}
                  >
                    {summary.id.name ?? 'Open'}
                  </button>
                </td>
                <td class="mono">{String(summary.id).slice(0, 16)}…</td>
                <td class="number">{bytesText(summary.sizeBytes)}</td>
                <td>{summary.branches.join(', ') || '–'}</td>
                <td>{alarmText(summary)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

/** Returns the time of the next alarm, or the reason why the object cannot be opened. */
function alarmText({ nextAlarm, error }: ObjectSummary): string {
  if (error !== null) return errorText(error);
  return nextAlarm === null ? '–' : timeText(nextAlarm);
}
