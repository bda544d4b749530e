// The live reads of a tab under torture: of rows, of keys and of a method, each on a handle or stub that it
// keeps through all faults. It reports every value they show to the outside, in order.

import { type Live, live } from '../../../src/index.ts';
import type { RemoteStorage } from '../../../src/shared/contract/storage.ts';
import { NEWEST, type SightedRead, type Sighting } from './sightings.ts';

declare global {
  interface Window {
    /** Given from outside. */
    see(sightings: readonly Sighting[]): Promise<void>;
  }
}

/** One message carries all values that arrive before it leaves. */
const DELAY_MS = 5;

interface NewestCalls {
  readonly count: number;
  readonly ids: readonly string[];
}

/** Where the live reads look. */
export interface Watched {
  readonly storage: RemoteStorage;
  readonly book: { newest(limit: number): Promise<NewestCalls> };
  /** Hears errors. */
  readonly failed: (read: SightedRead, error: unknown) => void;
}

/** Looks at everything until the result is called. Resolves when each live read has shown a value. */
export async function watch(tab: string, { storage, book, failed }: Watched): Promise<() => void> {
  const pending: Sighting[] = [];
  const see = (sighting: Sighting) => {
    if (pending.length === 0) setTimeout(() => window.see(pending.splice(0)), DELAY_MS);
    pending.push(sighting);
  };
  const ends: (() => void)[] = [];
  const follow = <T>(
    read: SightedRead,
    value: Live<T>,
    show: (value: T) => Pick<Sighting, 'position' | 'newest'>,
  ) =>
    new Promise<void>((shown) => {
      let number = 0;
      let last: T | undefined;
      let hasFailed = false;
      const listener = () => {
        const { status, value: latest } = value.getState();
        if (status === 'failed') hasFailed = true;
        if (status !== 'ready') return; // nothing is known yet, or nothing new
        // After an error, the value of before shows that it has passed.
        const isShown = hasFailed && latest === last;
        hasFailed = false;
        if (isShown) return;
        number += 1;
        last = latest;
        see({ tab, read, number, ...show(latest as T) });
        shown();
      };
      ends.push(value.subscribe(listener, { onError: (error) => failed(read, error) }));
    });
  const rows = storage.sql.live<{ id: string; n: number }>(
    `SELECT id, rowid AS n FROM rows ORDER BY rowid DESC LIMIT ${NEWEST}`,
  );
  await Promise.all([
    follow('rows', rows, (rows) => ({
      position: rows[0]?.n ?? 0,
      newest: rows.map(({ id }) => id).reverse(),
    })),
    follow('key', storage.live<number>({ key: 'count' }), (n = 0) => ({
      position: n,
      newest: n === 0 ? [] : [String(n)],
    })),
    follow('keys', storage.live<number>({ prefix: 'newest:' }), (entries) => {
      const numbers = [...entries.values()].sort((a, b) => a - b);
      return { position: numbers.at(-1) ?? 0, newest: numbers.map(String) };
    }),
    follow('method', live(book).newest(NEWEST), ({ count, ids }) => ({
      position: count,
      newest: ids,
    })),
  ]);
  return () => {
    for (const end of ends) end();
  };
}
