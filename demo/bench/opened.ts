// A contender that is open: its stores, and the time of a row on each.

import { type Place, ROWS } from './rows.ts';
import { Stopwatch } from './stopwatch.ts';
import type { Store } from './store.ts';

export interface Opened {
  /** Called by the page. */
  readonly page: Store;
  /** Called by the page, through methods of a class. */
  readonly class?: Store;
  /** Times a row in the worker, and gives microseconds; absent if code cannot run there. */
  readonly timeInWorker?: (row: string) => Promise<number | null>;
  /** Fills the worker's store, if it is not the page's. */
  readonly fillInWorker?: () => Promise<void>;
}

/** Microseconds of one `once` of a row; null if the contender does not take part. */
export type TimeRow = (row: string, place: Place) => Promise<number | null>;

export async function fillStores({ page, fillInWorker }: Opened): Promise<void> {
  await page.fill();
  await fillInWorker?.();
}

export function timerOf(opened: Opened): TimeRow {
  const watches = {
    page: new Stopwatch(opened.page),
    class: new Stopwatch(opened.class ?? opened.page),
  };
  return async (name, place) => {
    if (!ROWS.some((row) => row.name === name && row.places.includes(place))) return null;
    if (place === 'worker') return (await opened.timeInWorker?.(name)) ?? null;
    return await watches[place].time(name);
  };
}
