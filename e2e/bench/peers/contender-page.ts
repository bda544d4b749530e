// What the page of every contender gives to the harness.

import { type Place, ROWS } from './rows.ts';
import { Stopwatch } from './stopwatch.ts';
import type { Configuration, Store } from './store.ts';

export interface Opened {
  /** Called by the page. */
  readonly page: Store;
  /** Called by the page, through methods of a class. */
  readonly class?: Store;
  /** Times a row in the worker, and gives microseconds; absent if code cannot run there. */
  readonly timeInWorker?: (row: string) => Promise<number | null>;
  /** Fills what the worker's store reads, if that is not the page's. */
  readonly fillInWorker?: () => Promise<void>;
}

declare global {
  interface Window {
    readonly contender: {
      open(configuration: Configuration): Promise<void>;
      fill(): Promise<void>;
      /** Microseconds; null if the contender does not take part. */
      time(row: string, place: Place): Promise<number | null>;
    };
    /** Milliseconds from the navigation to the first answer, of a page opened with `?` and a configuration. */
    firstAnswerMs?: number;
  }
}

/** `open` opens the store, and no more; `equip` adds what only measures need. */
export function serveContender<T extends { readonly page: Store }>(
  open: (configuration: Configuration) => Promise<T>,
  equip: (opened: T, configuration: Configuration) => Promise<Opened>,
): void {
  let opened: Opened;
  const watches = new Map<Place, Stopwatch>();
  const contender: Window['contender'] = {
    async open(configuration) {
      opened = await equip(await open(configuration), configuration);
      watches.set('page', new Stopwatch(opened.page));
      watches.set('class', new Stopwatch(opened.class ?? opened.page));
    },
    async fill() {
      await opened.page.fill();
      await opened.fillInWorker?.();
    },
    async time(name, place) {
      if (!ROWS.some((row) => row.name === name && row.places.includes(place))) return null;
      if (place === 'worker') return (await opened.timeInWorker?.(name)) ?? null;
      return await watches.get(place)!.time(name);
    },
  };
  Object.assign(window, { contender });
  if (location.search !== '') void answerFirst(open);
}

async function answerFirst(open: (configuration: Configuration) => Promise<{ page: Store }>) {
  const { page } = await open(JSON.parse(decodeURIComponent(location.search.slice(1))));
  await page.get('k0001');
  window.firstAnswerMs = performance.now();
}
