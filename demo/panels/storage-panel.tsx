// Shows the panel of the notes' storage: an inspector of the object, on the handle that the notes use.
//
// The panel stays mounted while another one is shown, so that a running statement goes on and its text is not lost. The
// inspector is loaded when it first comes into view.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { problemOfCall, storage } from '../storage.ts';
import { type Problem, problemOf } from '../ui/problem.ts';
import { ProblemNote } from '../ui/problem-note.tsx';

interface Failure {
  readonly title: string;
  readonly problem: Problem;
}

export function StoragePanel({ hidden }: { hidden: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  const failure = useSignal<Failure | null>(null);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      // The inspector is never closed, because it exists as long as the page.
      import('../../packages/inspector/index.ts').then(
        ({ mountInspector }) => mountInspector(place.current!, { storage: storage() }),
        (error) => {
          failure.value = { title: 'The inspector was not loaded.', problem: problemOf(error) };
        },
      );
    });
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  const addSamples = async () => {
    try {
      await putSamples();
      failure.value = null;
    } catch (error) {
      failure.value = { title: 'The values were not stored.', problem: problemOfCall(error) };
    }
  };
  return (
    <div class="storage-panel" hidden={hidden}>
      <div class="actions">
        <button type="button" onClick={() => void addSamples()}>
          Add sample values
        </button>
        <span class="hint">The database of the notes. Changes are real.</span>
      </div>
      {failure.value !== null && <ProblemNote {...failure.value} />}
      <div class="inspector-place" ref={place} />
    </div>
  );
}

/** Stores values of types that JSON lacks. */
function putSamples(): Promise<void> {
  return storage().put<unknown>({
    'sample/map': new Map<string, unknown>([
      ['when', new Date()],
      ['tags', new Set(['offline', 'first'])],
    ]),
    'sample/bigint': 2n ** 64n,
    'sample/bytes': crypto.getRandomValues(new Uint8Array(24)),
    'sample/object': { name: 'Ada', born: new Date(Date.UTC(1815, 11, 10)), pattern: /^a+/i },
  });
}
