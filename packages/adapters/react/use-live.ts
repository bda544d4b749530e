// The hooks for live values: `useLive` gives the state, and `useLiveValue` the value. The latter suspends and throws,
// so that React's boundaries show waiting and errors.
//
// Invariant: rendering has only two effects. A component that suspends starts its live value, which would never have a
// first value otherwise. If the component then throws its error, the live value ends soon. A live value also ends with
// the last component that shows it.

import { storageError } from '@ctx-storage/core/errors';
import type { Live, LiveState } from '@ctx-storage/core/storage';
import { useEffect, useMemo, useReducer, useState, useSyncExternalStore } from 'react';
import { type ObservedLive, observeLive, unsteadyReadError } from '../observed/observed-live.ts';
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
  const [steadyRead] = useState(() => new SteadyRead<ObservedLive<T>>(warnOfUnsteadyRead));
  const shown = steadyRead.choose(asked);
  const [, renderAgain] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    if (steadyRead.afterRender(asked, shown)) renderAgain();
  });
  const subscribe = useMemo(
    () => (changed: () => void) =>
      shown.subscribe(() => {
        steadyRead.shownChanged();
        changed();
      }),
    [shown, steadyRead],
  );
  return useSyncExternalStore(subscribe, shown.snapshot, () => shown.initial);
}

function warnOfUnsteadyRead(): void {
  console.warn(`${unsteadyReadError('useLive').message} The read of an earlier render is kept.`);
}

/**
 * Returns the value of a live value, and renders again after each change. For an early handle, the first value is the
 * one that was kept at the last visit. The component suspends until the first value, and throws an error of the read:
 * show both in the nearest `<Suspense>` and error boundary. When the boundary renders again after an error, the read
 * starts again. To change the read without showing the fallback, use a transition.
 *
 * A read that differs in each render fails with INVALID_ARGUMENT after some renders.
 *
 * The hook throws on a server; React then renders the content of the nearest `<Suspense>` in the browser.
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
  // If an equal live value is made in each render, the first one is kept.
  return useMemo(() => observed, [owner, key]);
}

function onServer(): never {
  throw storageError(
    'NOT_ON_SERVER',
    'useLiveValue: the data is in the browser, so a server cannot render it. Put <Suspense> around the ' +
      'component; its fallback is rendered instead.',
  );
}
