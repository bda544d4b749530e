// The checker of the code on screen: its worker starts when the editor has come into view and the code has been started,
// and ends with the page.
//
// Invariant: code that came by a link is not checked until the visitor keeps it, because code can keep a checker busy.

import { effect, signal, untracked } from '@preact/signals';
import { wrap } from 'comlink';
import type { CheckerApi } from '../checker/checker-worker.ts';
import { Checking, type StartedChecker } from '../checker/checking.ts';
import { project } from './project.ts';
import { runState } from './session.ts';

export const checking = new Checking(startChecker, (delayMs, run) => {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
});

function startChecker(): StartedChecker {
  const worker = new Worker(new URL('../checker/checker-worker.ts', import.meta.url), {
    type: 'module',
  });
  const started: StartedChecker = {
    api: wrap<CheckerApi>(worker),
    onFailure: () => {},
    end: () => worker.terminate(),
  };
  worker.onerror = () => started.onFailure('TypeScript could not be loaded.');
  return started;
}

/** Checks the code from the time when the element is in view and the browser idle. The result ends that. */
export function checkOnceSeen(element: Element): () => void {
  const isSeen = signal(false);
  const isLeft = signal(false);
  let isInView = false;
  const observer = new IntersectionObserver((entries) => {
    isInView = entries.at(-1)!.isIntersecting;
    // The page may still grow, and push the editor out of view.
    whenIdle(() => {
      isSeen.value = isInView;
    });
  });
  observer.observe(element);
  const onLeave = ({ type }: Event) => {
    isLeft.value = type === 'pagehide';
  };
  window.addEventListener('pagehide', onLeave);
  window.addEventListener('pageshow', onLeave);
  const stop = effect(() => {
    const { files, kind } = project.value;
    const mayStart = isSeen.value && runState.value.kind !== 'starting';
    const isWanted = !isLeft.value && kind !== 'shared';
    untracked(() => {
      if (!isWanted) checking.end();
      else if (mayStart || checking.state.value.kind !== 'off') checking.want(files);
    });
  });
  return () => {
    stop();
    observer.disconnect();
    window.removeEventListener('pagehide', onLeave);
    window.removeEventListener('pageshow', onLeave);
    checking.end();
  };
}

/** Safari has no idle callbacks. */
function whenIdle(run: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(run);
  else setTimeout(run);
}
