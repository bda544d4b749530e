// Lets components observe live values. Components that show the same read share one live value.

import { storageError } from '@ctx-storage/core/errors';
import type { Live, LiveState } from '@ctx-storage/core/storage';
import type { Observed } from './observed.ts';
import { SharedLives } from './shared-lives.ts';

const lives = new SharedLives((delayMs, task) => {
  const timer = setTimeout(task, delayMs);
  return () => clearTimeout(timer);
});

export const PENDING = { status: 'pending', value: undefined, error: undefined } as const;

export interface ObservedLive<T> extends Observed<LiveState<T>> {
  /**
   * Resolves once there is a value or an error. All callers get the same promise.
   *
   * @throws StorageError INVALID_ARGUMENT if the read differs in each render
   */
  first(): Promise<void>;
  /** Must be called when a component throws the error: its read then ends soon. */
  thrown(): void;
}

/**
 * `hook` is the function that the user called, for messages.
 *
 * @throws StorageError INVALID_ARGUMENT if `live` is not a live value
 */
export function observeLive<T>(hook: string, live: Live<T>): ObservedLive<T> {
  if (typeof live?.identity !== 'object') throw notLiveError(hook);
  return {
    initial: PENDING,
    subscribe(changed) {
      let isSubscribing = true; // a live value calls a new listener at once, although nothing has changed
      const stop = lives.subscribe(live, () => {
        if (!isSubscribing) changed();
      });
      isSubscribing = false;
      return stop;
    },
    snapshot() {
      const state = lives.state(live);
      return state.status === 'pending' ? PENDING : state;
    },
    first() {
      const first = lives.first(live);
      if (first === null) throw unsteadyReadError(hook);
      return first;
    },
    thrown: () => lives.thrown(live),
  };
}

/** Makes the error of a hook that is called with another read in each render. */
export function unsteadyReadError(hook: string): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `${hook}: the read differs in each render, so each value begins the next read. Make a binding such as Date.now() once, with ` +
      'useState, or round it.',
  );
}

function notLiveError(hook: string): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `${hook}: takes a live value: of storage.live(), storage.sql.live() or a method of live(stub). A function ` +
      'that makes one, a promise and the cursor of exec() are not live values.',
  );
}
