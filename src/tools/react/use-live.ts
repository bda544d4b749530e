// Hooks for live values: `useLive` gives the state, `useLiveValue` the value, and leaves waiting and errors to
// React's boundaries.
//
// Invariant: rendering has no effect but one: a component that suspends starts its live value, which would
// otherwise never have a first value. A live value ends with the last component that shows it.

import { useMemo, useSyncExternalStore } from 'react';
import { storageError } from '../../shared/contract/errors.ts';
import type { Live, LiveState } from '../../shared/contract/live.ts';
import { SharedLives } from './shared-lives.ts';

const lives = new SharedLives((delayMs, task) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
});

const PENDING = { status: 'pending', value: undefined, error: undefined } as const;

/**
 * The state of a live value: `{ status: 'pending' | 'stale' | 'ready' | 'failed', value, error }`, again after each
 * change. The live value may be made while rendering, as in `useLive(storage.sql.live(query, id))`: two
 * live values with the same read are equal, so the read does not restart while it stays the same, and
 * components with the same read share it.
 *
 * On a server, and while its page hydrates, it is `pending`.
 *
 * @throws StorageError INVALID_ARGUMENT
 */
export function useLive<T>(live: Live<T>): LiveState<T> {
  const shown = useShown('useLive', live);
  return useSyncExternalStore(shown.subscribe, shown.state, () => PENDING);
}

/**
 * The value of a live value, again after each change; of an early handle first the one kept at the last visit. Until the first value the component suspends, and an error
 * is thrown: show them in the nearest `<Suspense>` and error boundary. When the boundary renders again after an
 * error, so does the read. To change the read without showing the fallback, use a transition.
 *
 * On a server it throws; React then renders the content of the nearest `<Suspense>` in the browser.
 *
 * @throws StorageError INVALID_ARGUMENT, and the errors of the live value
 */
export function useLiveValue<T>(live: Live<T>): T {
  const shown = useShown('useLiveValue', live);
  const { status, value, error } = useSyncExternalStore(shown.subscribe, shown.state, onServer);
  if (status === 'pending') throw shown.first();
  if (status === 'failed') throw error;
  return value as T;
}

interface Shown<T> {
  readonly subscribe: (changed: () => void) => () => void;
  readonly state: () => LiveState<T>;
  readonly first: () => Promise<void>;
}

function useShown<T>(hook: string, live: Live<T>): Shown<T> {
  const { owner, key } = mustBeLive(hook, live).identity;
  // Of equal live values the first one is kept.
  return useMemo(
    () => ({
      subscribe: (changed) => lives.subscribe(live, changed),
      state: () => lives.state(live),
      first: () => lives.first(live),
    }),
    [owner, key],
  );
}

function mustBeLive<T>(hook: string, live: Live<T>): Live<T> {
  if (typeof live?.identity === 'object') return live;
  throw storageError(
    'INVALID_ARGUMENT',
    `${hook}: takes a live value: of storage.live(), storage.sql.live() or a method of live(stub). A function ` +
      'that makes one, a promise and the cursor of exec() are not live values.',
  );
}

function onServer(): never {
  throw storageError(
    'NOT_ON_SERVER',
    'useLiveValue: the data is in the browser, so a server cannot render it. Put <Suspense> around the ' +
      'component; its fallback is rendered instead.',
  );
}
