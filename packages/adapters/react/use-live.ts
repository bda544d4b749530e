// Hooks for live values: `useLive` gives the state, `useLiveValue` the value, and leaves waiting and errors to
// React's boundaries.
//
// Invariant: rendering has two effects. A component that suspends starts its live value, which would otherwise
// never have a first value; if the component then throws its error, the live value ends soon. A live value ends with the
// last component that shows it.

import { storageError } from '@ctx-storage/core/errors';
import type { Live, LiveState } from '@ctx-storage/core/storage';
import { useEffect, useMemo, useReducer, useState, useSyncExternalStore } from 'react';
import { type ObservedLive, observeLive, restless } from '../observed/observed-live.ts';
import { SteadyRead } from './steady-read.ts';

/**
 * The state of a live value: `{ status: 'pending' | 'stale' | 'ready' | 'failed', value, error }`, again after each
 * change. The live value may be made while rendering, as in `useLive(storage.sql.live(query, id))`: two
 * live values with the same read are equal, so the read does not restart while it stays the same, and
 * components with the same read share it.
 *
 * A read that differs in each render, as by a binding `Date.now()`, is kept after some renders, with a warning.
 *
 * On a server, and while its page hydrates, it is `pending`.
 *
 * @throws StorageError INVALID_ARGUMENT
 */
export function useLive<T>(live: Live<T>): LiveState<T> {
  const asked = useObserved('useLive', live);
  const [steady] = useState(() => new SteadyRead<ObservedLive<T>>(warnOfRestless));
  const shown = steady.choose(asked);
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (steady.rendered(asked, shown)) renderAgain();
  });
  const subscribe = useMemo(
    () => (changed: () => void) =>
      shown.subscribe(() => {
        steady.told();
        changed();
      }),
    [shown, steady],
  );
  return useSyncExternalStore(subscribe, shown.snapshot, () => shown.initial);
}

function warnOfRestless(): void {
  console.warn(`${restless('useLive').message} The read of an earlier render is kept.`);
}

/**
 * The value of a live value, again after each change; of an early handle first the one kept at the last visit. Until the first value the component suspends, and an error
 * is thrown: show them in the nearest `<Suspense>` and error boundary. When the boundary renders again after an
 * error, so does the read. To change the read without showing the fallback, use a transition.
 *
 * A read that differs in each render is INVALID_ARGUMENT after some of them.
 *
 * On a server it throws; React then renders the content of the nearest `<Suspense>` in the browser.
 *
 * @throws StorageError INVALID_ARGUMENT, and the errors of the live value
 */
export function useLiveValue<T>(live: Live<T>): T {
  const { subscribe, snapshot, first, thrown } = useObserved('useLiveValue', live);
  const { status, value, error } = useSyncExternalStore(subscribe, snapshot, onServer);
  if (status === 'pending') throw first();
  if (status === 'failed') {
    thrown();
    throw error;
  }
  return value as T;
}

function useObserved<T>(hook: string, live: Live<T>) {
  const observed = observeLive(hook, live);
  const { owner, key } = live.identity;
  // Of equal live values the first one is kept.
  return useMemo(() => observed, [owner, key]);
}

function onServer(): never {
  throw storageError(
    'NOT_ON_SERVER',
    'useLiveValue: the data is in the browser, so a server cannot render it. Put <Suspense> around the ' +
      'component; its fallback is rendered instead.',
  );
}
