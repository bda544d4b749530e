// Shows, below the editor, the progress of the type check and its mistakes, each with a button that leads to it.

import type { TypeMistake } from '../checker/checker.ts';
import type { CheckState } from '../checker/checking.ts';
import { project } from './project.ts';
import { checking } from './type-check.ts';

export function MistakeList({ goTo }: { readonly goTo: (mistake: TypeMistake) => void }) {
  const state = checking.state.value;
  if (project.value.kind === 'shared') return null;
  const isBusy = state.kind === 'checking';
  const mistakes = isBusy ? state.before : state.kind === 'checked' ? state.mistakes : [];
  return (
    <section class="mistakes" aria-label="Types" aria-busy={isBusy} data-state={state.kind}>
      <p role="status">{saidOf(state, mistakes.length)}</p>
      {state.kind === 'failed' && (
        <button type="button" class="quiet" onClick={() => checking.retry()}>
          Try again
        </button>
      )}
      {mistakes.length > 0 && (
        <ul aria-label="Mistakes in types">
          {mistakes.map((one) => (
            <li key={`${one.path}:${one.line}:${one.column}:${one.message}`}>
              <button type="button" class="quiet" disabled={isBusy} onClick={() => goTo(one)}>
                {one.path}:{one.line}
              </button>
              <span>{one.message}</span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** Returns the text about the state of the check. During a check it keeps the count of the older mistakes. */
function saidOf(state: CheckState, count: number): string {
  switch (state.kind) {
    case 'off':
      return 'Types are not checked yet.';
    case 'loading':
      return 'TypeScript is loaded, to check the types…';
    case 'failed':
      return `${state.message} Types are not checked; the code runs all the same.`;
    case 'checking':
    case 'checked':
      if (count === 0) return 'TypeScript finds no mistakes.';
      return `TypeScript finds ${count === 1 ? 'a mistake' : `${count} mistakes`}.`;
  }
}
