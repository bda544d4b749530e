// The values that the live reads of all tabs have shown, kept outside the browser, and the values that they
// must have shown.
//
// All watched data only grows, one entry after the other, so each value of a live read must be the newest
// entries at one moment of the order in which they were committed. A live read shows these moments in their
// order, never one twice; it may leave some out, but not the last one, and it is never silent for good.

/**
 * The watched data: rows of a query, a key and a range of keys (transactions), and a method's result
 * (calls).
 */
export type SightedRead = 'rows' | 'key' | 'keys' | 'method';

export const SIGHTED_READS: readonly SightedRead[] = ['rows', 'key', 'keys', 'method'];

/** How many of the newest entries a value shows, of all reads but that of a key, which shows the newest one. */
export const NEWEST = 8;

/** A value of a live read. */
export interface Sighting {
  readonly tab: string;
  readonly read: SightedRead;
  /** Counts the values of this live read, from 1. */
  readonly number: number;
  /** How many entries there were. */
  readonly position: number;
  /** The last of them, the newest one last. */
  readonly newest: readonly string[];
}

/** Every entry in the order of the commits, for each read. */
export type Committed = Readonly<Record<SightedRead, readonly string[]>>;

interface Stream {
  readonly tab: string;
  readonly read: SightedRead;
  /** The values that some tab had shown before this one began. */
  readonly floor: number;
  readonly sightings: Sighting[];
  /** How many of them were found to be right. */
  audited: number;
  lastMs: number;
}

export class Sightings {
  readonly #streams = new Map<string, Stream>();
  /** The tabs whose live reads are there. */
  readonly #tabs = new Set<string>();
  readonly #highest = new Map<SightedRead, number>();
  readonly #waiting = new Set<() => void>();
  #count = 0;
  #longestMs = 0;

  /** Values that were shown. */
  get count(): number {
    return this.#count;
  }

  /** The longest time between two values of a live read, while everybody wrote. */
  get longestSilenceMs(): number {
    return this.#longestMs;
  }

  /** A tab begins to watch. */
  begin(tab: string): void {
    for (const read of SIGHTED_READS) {
      const floor = this.#highest.get(read) ?? 0;
      this.#streams.set(`${tab} ${read}`, {
        tab,
        read,
        floor,
        sightings: [],
        audited: 0,
        lastMs: Number.NaN,
      });
    }
  }

  /** All live reads of the tab have shown a value. */
  began(tab: string): void {
    this.#tabs.add(tab);
  }

  /** The tab, or its live reads, are gone. */
  end(tab: string): void {
    this.#tabs.delete(tab);
    this.#tell();
  }

  /** Called when no writes are expected for a while. */
  pause(): void {
    for (const stream of this.#streams.values()) stream.lastMs = Number.NaN;
  }

  enter(sighting: Sighting, nowMs: number): void {
    const { tab, read, position } = sighting;
    const stream = this.#streams.get(`${tab} ${read}`);
    if (stream === undefined) return; // a tab that was gone before the last audit
    stream.sightings.push(sighting);
    this.#count += 1;
    this.#highest.set(read, Math.max(position, this.#highest.get(read) ?? 0));
    const silenceMs = nowMs - stream.lastMs; // NaN for the first value
    if (this.#tabs.has(tab) && silenceMs > this.#longestMs) this.#longestMs = silenceMs;
    stream.lastMs = nowMs;
    this.#tell();
  }

  /**
   * Waits until every live read has shown these positions; returns the reads that are silent for too long, in
   * words.
   */
  async silent(positions: Partial<Record<SightedRead, number>>, waitMs: number): Promise<string[]> {
    const behind = () =>
      [...this.#streams.values()].filter(
        ({ tab, read, sightings }) =>
          this.#tabs.has(tab) && (sightings.at(-1)?.position ?? -1) < (positions[read] ?? 0),
      );
    const deadline = performance.now() + waitMs;
    for (;;) {
      const silent = behind();
      const leftMs = deadline - performance.now();
      if (silent.length === 0 || leftMs <= 0) {
        return silent.map(({ tab, read, sightings }) => {
          const shown = sightings.at(-1)?.position ?? 'nothing';
          return `${tab} ${read} is silent at ${shown}, not at ${positions[read]}`;
        });
      }
      await this.#next(leftMs);
    }
  }

  /** The faults, in words; empty when there are none. */
  audit(committed: Committed): string[] {
    const faults: string[] = [];
    for (const [name, stream] of this.#streams) {
      faults.push(...faultsOf(name, stream, committed[stream.read]));
      stream.audited = stream.sightings.length;
      const isThere = this.#tabs.has(stream.tab);
      if (isThere && stream.sightings.at(-1)?.position !== committed[stream.read].length) {
        const shown = stream.sightings.at(-1)?.position ?? 'nothing';
        faults.push(`${name} ends at ${shown} of ${committed[stream.read].length}`);
      }
      if (!isThere) this.#streams.delete(name);
    }
    return faults;
  }

  #next(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      this.#waiting.add(done);
    });
  }

  #tell(): void {
    for (const done of [...this.#waiting]) done();
  }
}

function faultsOf(
  name: string,
  { read, sightings, audited, floor }: Stream,
  entries: readonly string[],
): string[] {
  const depth = read === 'key' ? 1 : NEWEST;
  const faults: string[] = [];
  for (let i = audited; i < sightings.length; i++) {
    const { number, position, newest } = sightings[i]!;
    const before = sightings[i - 1];
    if (number !== i + 1) faults.push(`${name}: value ${number} came as ${i + 1}`);
    if (before === undefined && position < floor) {
      faults.push(`${name} begins at ${position}, after a tab has shown ${floor}`);
    }
    if (before !== undefined && position < before.position) {
      faults.push(`${name} goes back from ${before.position} to ${position}`);
    }
    if (before !== undefined && position === before.position) {
      faults.push(`${name} shows ${position} twice`);
    }
    const expected = entries.slice(Math.max(0, position - depth), position);
    if (position > entries.length || expected.join() !== newest.join()) {
      faults.push(
        `${name} shows ${newest.join(' ')} at ${position}, but ${expected.join(' ')} were committed`,
      );
    }
  }
  return faults;
}
