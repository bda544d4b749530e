// Live values that components show. Components that show the same read share one live value.

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
   * Resolves when there is a value or an error: the same promise for all who ask.
   *
   * @throws StorageError INVALID_ARGUMENT if the read differs in each render
   */
  first(): Promise<void>;
  /** A component has thrown the error. */
  thrown(): void;
}

/** `hook` is the function that the user called. @throws StorageError INVALID_ARGUMENT */
export function observeLive<T>(hook: string, live: Live<T>): ObservedLive<T> {
  if (typeof live?.identity !== 'object') throw notLive(hook);
  return {
    initial: PENDING,
    subscribe(changed) {
      let isSubscribing = true; // a live value calls its listener at once
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
      if (first === null) throw restless(hook);
      return first;
    },
    thrown: () => lives.thrown(live),
  };
}

/** The hook is called with another read each time. */
export function restless(hook: string): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `${hook}: the read differs in each render, so each value begins the next read. Make a binding such as Date.now() once, with ` +
      'useState, or round it.',
  );
}

function notLive(hook: string): Error {
  return storageError(
    'INVALID_ARGUMENT',
    `${hook}: takes a live value: of storage.live(), storage.sql.live() or a method of live(stub). A function ` +
      'that makes one, a promise and the cursor of exec() are not live values.',
  );
}
