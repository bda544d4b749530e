// A page that goes into the browser's back/forward cache: tests hold handles of the package on it, and look how it comes
// back. A page that the browser has discarded from there is loaded again, and knows only the session's storage.

import { connect, live, openStorage } from '../../../src/index.ts';
import type { Classes } from './cached-worker.ts';

declare global {
  interface Window {
    cached: typeof cached;
    /** Set by a test; a page that is loaded again has none. */
    held: Held | undefined;
  }
}

type Held = Awaited<ReturnType<typeof hold>>;

const connectRooms = () => {
  const address = new URL('./objects-worker.js', import.meta.url);
  return connect<Classes>(() => new Worker(address, { type: 'module' }));
};

const cached = {
  /** Whether the page was put into the cache when it went away last. */
  get wasCached(): boolean {
    return sessionStorage.getItem('cached') === 'true';
  },
  /** How often the page was shown. */
  shownCount: 0,
  /** Whether it came out of the cache when it was shown last. */
  isFromCache: false,
  /** Why the browser did not take the page out of its cache, in its own words. */
  get reasons(): (string | undefined)[] {
    const [navigation] = performance.getEntriesByType('navigation') as NavigationTiming[];
    return navigation?.notRestoredReasons?.reasons.map(({ reason }) => reason) ?? [];
  },
  hold,
};

/** Not in the types of TypeScript yet. */
interface NavigationTiming extends PerformanceEntry {
  readonly notRestoredReasons?: { readonly reasons: readonly { reason?: string }[] } | null;
}

addEventListener('pageshow', ({ persisted }) => {
  cached.shownCount += 1;
  cached.isFromCache = persisted;
});
addEventListener('pagehide', ({ persisted }) => {
  sessionStorage.setItem('cached', String(persisted));
});

/** Handles of every kind, and live reads with all the values they have shown. */
async function hold() {
  const storage = await openStorage('kept');
  const apart = await openStorage('kept'); // a transaction takes in the calls of its handle
  const room = (await connectRooms()).env.Room.getByName('a');
  const counts: number[] = [];
  const sums: number[] = [];
  storage.live<number>({ key: 'count' }).subscribe((count) => {
    if (count !== undefined) counts.push(count);
  });
  live(room)
    .sum()
    .subscribe((sum) => {
      if (sum !== undefined) sums.push(sum);
    });
  return { storage, apart, room, counts, sums };
}

window.cached = cached;
