// Describes an open contender: its stores, and how a row of the table is timed on each.

import { type Place, ROWS } from './rows.ts';
import { Stopwatch } from './stopwatch.ts';
import type { Store } from './store.ts';

export interface Opened {
  /** The store that the page calls. */
  readonly page: Store;
  /** The store that the page calls through methods of a class. */
  readonly class?: Store;
  /** Times a row in the worker and resolves to microseconds; absent if code cannot run there. */
  readonly timeInWorker?: (row: string) => Promise<number | null>;
  /** Fills the worker's store; absent if the page's store is the same one. */
  readonly fillInWorker?: () => Promise<void>;
}

/** Returns the microseconds of one call of a row's `once`; null if the contender does not take part in the row. */
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
