// Shows the data of the visitor's code: the objects, the keys and tables of the called one, and an inspector of it.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { MountedInspector } from '../../packages/inspector/index.ts';
import type { RemoteStorage } from '../../src/index.ts';
import { formatBytes } from '../ui/format.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';
import { Alarms } from './alarms.tsx';
import { storage } from './past.ts';
import { objects, refresh, runner, target } from './session.ts';
import { StateView } from './state-view.tsx';

/**
 * How often the objects are listed again. This is needed because no event reports objects that the page does not call.
 */
const AGAIN_MS = 5000;

export function DataPanel() {
  useEffect(() => {
    if (runner.value === null) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void refresh();
    }, AGAIN_MS);
    return () => clearInterval(timer);
  }, [runner.value]);
  return (
    <section class="side-panel" aria-label="Storage">
      <div class="storage-head">
        <h2>Storage</h2>
        <Objects />
      </div>
      <Alarms />
      <StateView />
      {storage.value !== null && <Inspect storage={storage.value} />}
    </section>
  );
}

function Inspect({ storage }: { storage: RemoteStorage }) {
  const isOpen = useSignal(false);
  return (
    <details
      class="inspect"
      onToggle={({ currentTarget: { open } }) => {
        isOpen.value = open;
      }}
    >
      <summary>Inspector: change values, ask in SQL, branches, files</summary>
      {isOpen.value && <Inspected storage={storage} />}
    </details>
  );
}

/** Shows the inspector, which is loaded when it is opened. */
function Inspected({ storage }: { storage: RemoteStorage }) {
  const place = useRef<HTMLDivElement>(null);
  const problem = useSignal<Problem | null>(null);
  useEffect(() => {
    // The inspector opens at the end of the panel, which may be outside the visible part.
    place.current!.closest('details')!.scrollIntoView();
    let mounted: MountedInspector | null = null;
    let isOver = false;
    import('../../packages/inspector/index.ts').then(
      ({ mountInspector }) => {
        if (!isOver) mounted = mountInspector(place.current!, { storage });
      },
      (error) => {
        problem.value = problemOf(error);
      },
    );
    return () => {
      isOver = true;
      mounted?.unmount();
    };
  }, [storage]);
  return (
    <>
      {problem.value !== null && (
        <ProblemNote title="The inspector could not be loaded." problem={problem.value} />
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
    <ul class="objects" aria-label="Objects">
      {objects.value.map(({ className, name, sizeBytes }) => {
        const isTarget = className === target.value.className && name === target.value.name;
        return (
          <li key={`${className}/${name}`} class="object-line">
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
            <span class="hint">{formatBytes(sizeBytes)}</span>
          </li>
        );
      })}
    </ul>
  );
}
