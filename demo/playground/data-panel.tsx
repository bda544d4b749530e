// The data of the visitor's code: the list of objects, and an inspector of the object that is
// called.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { MountedInspector } from '../../src/tools/inspector/index.ts';
import { followCommits } from '../changes.ts';
import { formatBytes } from '../ui/format.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { Alarms } from './alarms.tsx';
import { objects, refresh, runner, target } from './session.ts';

/** How often the objects are listed again: no event reports objects that are not shown below. */
const AGAIN_MS = 5000;

export function DataPanel() {
  const { className, name } = target.value;
  const exists = objects.value.some((one) => one.className === className && one.name === name);
  useEffect(() => {
    if (runner.value === null) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void refresh();
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, [runner.value]);
  return (
    <section class="side-panel" aria-label="Storage">
      <h2>Storage</h2>
      <Objects />
      <Alarms />
      {exists && runner.value?.status != null && <Inspected key={`${className}/${name}`} />}
    </section>
  );
}

/** The inspector, which is loaded when there is something to inspect. */
function Inspected() {
  const place = useRef<HTMLDivElement>(null);
  const problem = useSignal<Problem | null>(null);
  useEffect(() => {
    const opened = runner.value?.storage(target.value);
    if (opened === null || opened === undefined) return;
    let mounted: MountedInspector | null = null;
    let isOver = false;
    let endCommits = () => {};
    void Promise.all([opened, import('../../src/tools/inspector/index.ts')]).then(
      ([storage, { mountInspector }]) => {
        if (isOver) return;
        mounted = mountInspector(place.current!, { storage });
        // Writes of another tab or an alarm also appear in the list and in the state. The inspector shows errors.
        endCommits = followCommits(storage, () => void refresh());
      },
      (error) => {
        problem.value = problemOf(error);
      },
    );
    return () => {
      isOver = true;
      endCommits();
      mounted?.unmount();
      // The failure is shown above.
      void opened.then(
        (storage) => storage.close(),
        () => {},
      );
    };
  }, [runner.value]);
  return (
    <>
      {problem.value !== null && (
        <ProblemNote title="The storage could not be opened." problem={problem.value} />
      )}
      <div class="inspector-place" ref={place} />
    </>
  );
}

function Objects() {
  if (objects.value.length === 0) {
    return <p class="empty">An object exists once it has stored something.</p>;
  }
  return (
    <ul class="entries objects" aria-label="Objects">
      {objects.value.map(({ className, name, sizeBytes }) => {
        const isTarget = className === target.value.className && name === target.value.name;
        return (
          <li key={`${className}/${name}`} class="entry object-line">
            <button
              type="button"
              class="quiet"
              aria-pressed={isTarget}
              onClick={() => {
                target.value = { className: String(className), name: String(name) };
              }}
            >
              {String(className)} “{String(name)}”
            </button>
            <span class="entry-type">{formatBytes(sizeBytes)}</span>
          </li>
        );
      })}
    </ul>
  );
}
