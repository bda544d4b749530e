// Checks the code on screen in a worker that starts once the code has run and the editor is in view, and that ends with
// the page.
//
// Invariant: code that came by a link is not checked until the visitor keeps it, because code can keep a checker busy.

import { effect, signal, untracked } from '@preact/signals';
import { wrap } from 'comlink';
import type { CheckerApi } from '../checker/checker-worker.ts';
import { Checking, type StartedChecker } from '../checker/checking.ts';
import { project } from './project.ts';

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

const isAllowed = signal(false);

/** Allows the checks. It is called after the first run, from which the checker would take time. */
export function allowChecks(): void {
  isAllowed.value = true;
}

/** Checks the code once that is allowed and the element is in view. The returned function ends the checks. */
export function checkOnceSeen(element: Element): () => void {
  const isSeen = signal(false);
  const isLeft = signal(false);
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    isSeen.value = true;
  });
  const stopWaiting = effect(() => {
    if (isAllowed.value) whenIdle(() => observer.observe(element));
  });
  const onLeave = ({ type }: Event) => {
    isLeft.value = type === 'pagehide';
  };
  window.addEventListener('pagehide', onLeave);
  window.addEventListener('pageshow', onLeave);
  const stop = effect(() => {
    const { files, kind } = project.value;
    const isChecked = isSeen.value && !isLeft.value && kind !== 'shared';
    untracked(() => (isChecked ? checking.want(files) : checking.end()));
  });
  return () => {
    stop();
    stopWaiting();
    observer.disconnect();
    window.removeEventListener('pagehide', onLeave);
    window.removeEventListener('pageshow', onLeave);
    checking.end();
  };
}

/** Runs a function when the page is idle, or soon in Safari, which has no idle callbacks. */
function whenIdle(run: () => void): void {
  if ('requestIdleCallback' in window) requestIdleCallback(run);
  else setTimeout(run);
}
