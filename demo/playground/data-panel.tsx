// What the visitor's code stores: the objects there are, and an inspector of the one that is called.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { MountedInspector } from '../../src/inspector/index.ts';
import { formatBytes } from '../ui/format.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { Alarms } from './alarms.tsx';
import { objects, refresh, runner, target } from './session.ts';

/** How often the objects are listed again: an alarm, another tab or the inspector may have written. */
const AGAIN_MS = 2000;

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
    void Promise.all([opened, import('../../src/inspector/index.ts')]).then(
      ([storage, { mountInspector }]) => {
        if (!isOver) mounted = mountInspector(place.current!, { storage });
      },
      (error) => {
        problem.value = problemOf(error);
      },
    );
    return () => {
      isOver = true;
      mounted?.unmount();
      // What could not be opened is told above.
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
