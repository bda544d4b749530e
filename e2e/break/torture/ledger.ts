// The books of a torture: the acknowledged writes, kept outside the browser, and the expected content.
//
// A write has an id of its own, "tab:lane:number"; a lane makes one write after the other. A rejected
// write may or may not be stored, but never twice, and never in a place of its own choosing. A write that a full disk
// has refused is not stored. Reads need no room, so a full disk refuses none.

import { type Committed, SIGHTED_READS, type SightedRead } from './sightings.ts';

/** A write as it is found in the storage; `n` counts within its transaction or object. */
export interface FoundRow {
  readonly id: string;
  readonly n: number;
}

/** The content of the storage; rows in the order they were written. */
export interface Found {
  readonly rows: readonly FoundRow[];
  /** Ids of keys. */
  readonly keys: readonly string[];
  /** How many transactions say that they committed. */
  readonly transactions: number;
  /** Rows of the object that was called, and how many calls it counted. */
  readonly calls: readonly FoundRow[];
  readonly callCount: number;
  /** SQLite's own look at both databases. */
  readonly checks: readonly string[];
  /** Commits of the called object that have a part of a call, or calls of two methods. */
  readonly torn: readonly string[];
}

/** At which place of the order of commits a write is, for the live reads that show it. */
export type Places = Partial<Record<SightedRead, number>>;

/** A report of one write, of opening, or of a live read. */
export interface LoadEvent {
  readonly id: string;
  /** The error of the write; null if it was acknowledged. */
  readonly failure: { readonly code: string; readonly retryable: boolean } | null;
  /** The places of a write that was acknowledged. */
  readonly places?: Places;
  /** The failure is that of a live read, not of a write. */
  readonly isRead?: true;
}

/**
 * The errors that a fault may cause in addition to the retryable ones. An aborted object rejects the calls under way
 * with them.
 */
const EXPECTED: ReadonlySet<string> = new Set(['TRANSACTION_ENDED', 'OBJECT_RESET']);

/** The error of a write for which a full disk has no room. */
const REFUSED = 'DISK_FULL';

export class Ledger {
  readonly #acknowledged = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #isSmall: boolean;
  readonly #faults: string[] = [];
  readonly #places = new Map<SightedRead, number>();
  #rejected = 0;

  /** `isSmall`: the disk may fill. */
  constructor({ isSmall = false } = {}) {
    this.#isSmall = isSmall;
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  get rejected(): number {
    return this.#rejected;
  }

  /** How many writes a full disk has refused. */
  get refused(): number {
    return this.#refused.size;
  }

  /** The last place of a write that was acknowledged, for each live read that shows it. */
  get places(): Places {
    return Object.fromEntries(this.#places);
  }

  /** Enters the outcome of a write. */
  enter({ id, failure, places = {}, isRead }: LoadEvent): void {
    if (failure === null) {
      this.#acknowledged.add(id);
      for (const read of SIGHTED_READS) {
        this.#places.set(read, Math.max(places[read] ?? 0, this.#places.get(read) ?? 0));
      }
      return;
    }
    this.#rejected += 1;
    if (this.#isSmall && failure.code === REFUSED && isRead !== true) {
      this.#refused.add(id);
      return;
    }
    if (!failure.retryable && !EXPECTED.has(failure.code)) {
      this.#faults.push(`${id} was rejected with ${failure.code}`);
    }
  }

  /** The faults, in words; empty when there are none. */
  audit(found: Found): string[] {
    const { rows, keys, calls, callCount, transactions, checks, torn } = found;
    const faults = [...this.#faults.splice(0), ...torn];
    const seen = new Map<string, number>();
    for (const id of [...rows.map(({ id }) => id), ...keys, ...calls.map(({ id }) => id)]) {
      seen.set(id, (seen.get(id) ?? 0) + 1);
    }
    for (const id of this.#acknowledged) if (!seen.has(id)) faults.push(`${id} is lost`);
    for (const id of this.#refused) if (seen.has(id)) faults.push(`${id} was refused and is there`);
    for (const [id, times] of seen) if (times > 1) faults.push(`${id} is there ${times} times`);
    faults.push(...misordered(rows), ...misordered(calls));
    const committed = rows.filter(({ n }) => n > 0);
    faults.push(...miscounted('transactions', committed, transactions));
    faults.push(...miscounted('calls', calls, callCount));
    for (const check of checks) if (check !== 'ok') faults.push(`quick_check: ${check}`);
    return faults;
  }
}

/** The content as live reads show it. */
export function committedIn({ rows, transactions, calls }: Found): Committed {
  const numbers = Array.from({ length: transactions }, (_, i) => String(i + 1));
  return {
    rows: rows.map(({ id }) => id),
    key: numbers,
    keys: numbers,
    method: calls.map(({ id }) => id),
  };
}

// A transaction, and a call, writes its row and the count of all so far, or neither.
function miscounted(what: string, rows: readonly FoundRow[], count: number): string[] {
  const gap = rows.findIndex(({ n }, i) => n !== i + 1);
  if (gap !== -1) return [`${what}: row ${gap + 1} says ${rows[gap]!.n} (${rows[gap]!.id})`];
  return rows.length === count ? [] : [`${what}: ${rows.length} rows, but ${count} are counted`];
}

function misordered(rows: readonly FoundRow[]): string[] {
  const last = new Map<string, number>();
  const faults: string[] = [];
  for (const { id } of rows) {
    const cut = id.lastIndexOf(':');
    const lane = id.slice(0, cut);
    const number = Number(id.slice(cut + 1));
    if (number <= (last.get(lane) ?? -1))
      faults.push(`${id} comes after ${lane}:${last.get(lane)}`);
    last.set(lane, number);
  }
  return faults;
}
