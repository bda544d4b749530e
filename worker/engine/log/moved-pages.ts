// Collects the changed pages of a record of which much differs, and writes them as differences if that is smaller.
//
// Invariant: what is written says the same as an entry for each page would.
//
// An object whose values are replaced by wholly different ones gains nothing, so after each attempt in vain the next ones
// are left out, twice as many each time.

import type { Checksum } from './checksum.ts';
import { haveCommonRun } from './delta.ts';
import {
  DELTA_INDEX_MAX,
  DELTA_PAGES_MAX,
  type DeltaChange,
  encodeDelta,
  type UnchangedPage,
} from './page-delta.ts';
import { PAGE_BYTES } from './pages.ts';
import { differsMuch, type PageChange, type RecordWriter, rangeBytes } from './record.ts';

/** A page that a redo does not know exactly is collected only if so many sampled words differ: the entry holds it whole. */
const MOVED_SAMPLES_INEXACT = 4;
/** Pages that are collected before they are written: more would make a record longer than a part. */
const PAGES_MAX = Math.min(128, DELTA_PAGES_MAX);
/** Differences must be smaller than this part of the ranges, because reading them takes longer. */
const GAIN_PART = 0.75;
/**
 * If the differences would be smaller than this part of the ranges, pages are held whole that a redo does not know
 * exactly: until the next checkpoint, that need not be repeated.
 */
const INVESTED_PART = 0.25;
/** After more attempts in vain than this, one more is left out, then two, and so on up to 31. */
const VAIN_MIN = 3;
const VAIN_MAX = 8;
/** Maximum number of pages beside the changed ones that are searched. */
const OTHERS_MAX = 64;

// Buffers for all objects of a worker: every use ends within one turn of the event loop.
const buffers = Array.from({ length: PAGES_MAX }, () => new Uint8Array(0));

/** The committed pages, as a record may refer to them. */
export interface KnownPages {
  /** True if a redo knows the page exactly. */
  isExact(pageIndex: number): boolean;
  /** Lists pages that a redo knows exactly, the last ones that were changed, at most `count`. */
  lastExact(count: number): number[];
  read(pageIndex: number, target: Uint8Array): void;
}

export class MovedPages {
  readonly #known: KnownPages;
  readonly #checksum: Checksum;
  /** True for pages that the transaction has not changed. */
  readonly #isUnchanged: (pageIndex: number) => boolean;
  #changes: DeltaChange[] = [];
  /** Number of attempts in vain since the last one that gained, and how many more are left out. */
  #vain = 0;
  #leftOut = 0;
  /** True if the attempt of this transaction is left out; undefined before its first page. */
  #isLeftOut: boolean | undefined;

  constructor(known: KnownPages, checksum: Checksum, isUnchanged: (pageIndex: number) => boolean) {
    this.#known = known;
    this.#checksum = checksum;
    this.#isUnchanged = isUnchanged;
  }

  /** Begins the next transaction. */
  begin(): void {
    this.#changes = [];
    this.#isLeftOut = undefined;
  }

  /** True if the pages should be written before more are collected. */
  get isFull(): boolean {
    return this.#changes.length === PAGES_MAX;
  }

  /** Collects a change that differs much; returns false if it is to be written alone. `after` must not change until `write`. */
  collect(change: PageChange): boolean {
    const { pageIndex, before, after } = change;
    if (pageIndex >= DELTA_INDEX_MAX) return false;
    const isExact = before !== null && this.#known.isExact(pageIndex);
    if (!isExact && !differsMuch(change, MOVED_SAMPLES_INEXACT)) return false;
    if (this.#isLeftOut === undefined) {
      this.#isLeftOut = this.#leftOut > 0;
      if (this.#isLeftOut) this.#leftOut--;
    }
    if (this.#isLeftOut) return false;
    this.#changes.push({ pageIndex, before: before && this.#copyOf(before), after, isExact });
    return true;
  }

  /**
   * Writes the collected pages as one entry of `writer`, and returns their indexes; if that is not smaller, passes each to
   * `addAlone` instead, and returns none.
   */
  write(writer: RecordWriter, addAlone: (change: PageChange) => void): number[] {
    const changes = this.#changes;
    if (changes.length === 0) return [];
    this.#changes = [];
    const entry = mayHaveMoved(changes) ? this.#encode(changes) : null;
    if (changes.some(({ before }) => before !== null)) this.#noteAttempt(entry === null);
    if (entry === null) {
      for (const change of changes) addAlone(change);
      return [];
    }
    writer.addEntry(entry);
    return changes.filter(({ after }) => after !== null).map(({ pageIndex }) => pageIndex);
  }

  /** Returns the entry of these pages if it is small enough, otherwise null. */
  #encode(changes: readonly DeltaChange[]): Uint8Array | null {
    const ranges = changes.reduce((bytes, change) => bytes + rangeBytes(change), 0);
    const isInexact = changes.some(({ before, isExact }) => before !== null && !isExact);
    if (isInexact) {
      const known = changes.map((change) => ({ ...change, isExact: change.before !== null }));
      const later = encodeDelta(known, this.#checksum);
      if (later === null || later.length >= INVESTED_PART * ranges) return null;
    }
    const entry = encodeDelta(changes, this.#checksum, () => this.#others());
    return isInexact || (entry !== null && entry.length < GAIN_PART * ranges) ? entry : null;
  }

  #copyOf(page: Uint8Array): Uint8Array {
    const { length } = this.#changes;
    if (buffers[length]!.length === 0) buffers[length] = new Uint8Array(PAGE_BYTES);
    buffers[length]!.set(page);
    return buffers[length]!;
  }

  #noteAttempt(isVain: boolean): void {
    this.#vain = isVain ? Math.min(this.#vain + 1, VAIN_MAX) : 0;
    this.#leftOut = this.#vain <= VAIN_MIN ? 0 : 2 ** (this.#vain - VAIN_MIN) - 1;
  }

  #others(): UnchangedPage[] {
    const unchanged = this.#known.lastExact(OTHERS_MAX).filter(this.#isUnchanged);
    return unchanged.map((pageIndex) => {
      const bytes = new Uint8Array(PAGE_BYTES);
      this.#known.read(pageIndex, bytes);
      return { pageIndex, bytes };
    });
  }
}

/** True if a sample of the new bytes is found somewhere in the old bytes. */
function mayHaveMoved(changes: readonly DeltaChange[]): boolean {
  const old: Uint8Array[] = [];
  const next: Uint8Array[] = [];
  for (const { before, after } of changes) {
    if (before !== null) old.push(before);
    if (after !== null) next.push(after);
  }
  return old.length > 0 && next.length > 0 && haveCommonRun(old, next);
}
