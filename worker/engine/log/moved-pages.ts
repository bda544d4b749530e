// Collects the changed pages of a record that differ much, and writes them as differences if those take fewer bytes.
//
// Invariant: the written entry describes the same changes as one entry of ranges for each page.
//
// If the values of an object are replaced by entirely different ones, differences save nothing. So after failed
// attempts in a row, the next attempts are skipped, about twice as many after each further failure.

import type { Checksum } from './checksum.ts';
import { haveCommonRun } from './delta.ts';
import {
  DELTA_INDEX_MAX,
  type DeltaChange,
  encodeDelta,
  type UnchangedPage,
} from './page-delta.ts';
import { PAGE_BYTES } from './pages.ts';
import { differsMuch, type PageChange, type RecordWriter, rangeBytes } from './record.ts';

/**
 * A page that a redo does not know exactly is collected only if at least this many sampled bytes differ, because the
 * entry holds such a page whole.
 */
const MOVED_SAMPLES_INEXACT = 4;
/**
 * Maximum number of pages that are collected before they are written: more pages would make a record longer than a
 * part.
 */
const PAGES_MAX = 128;
/**
 * Differences are written only if they take less than this part of the bytes of the ranges, because reading differences
 * takes longer.
 */
const GAIN_PART = 0.75;
/**
 * Pages that a redo does not know exactly are written whole if differences of known pages would take less than this
 * part of the bytes of the ranges. A redo then knows these pages exactly until the next checkpoint.
 */
const INVESTED_PART = 0.25;
/**
 * After this many failed attempts in a row, each further failure makes more attempts be skipped: 1, 3, 7, 15, and at
 * most 31.
 */
const VAIN_MIN = 3;
const VAIN_MAX = 8;
/**
 * Maximum number of unchanged pages that are searched, for each changed one. SQLite writes a value whose size changes into
 * pages of its free list, which are about as many as the value has.
 */
const OTHERS_PER_PAGE = 3;

// These buffers serve all objects of a worker, because every use ends within one turn of the event loop.
const buffers = Array.from({ length: PAGES_MAX }, () => new Uint8Array(0));

/** The committed pages from which a record may copy bytes. */
export interface KnownPages {
  /** True if a redo knows the page exactly. */
  isExact(pageIndex: number): boolean;
  /** Lists at most `count` pages that a redo knows exactly: those that records held last, whole or as differences. */
  lastExact(count: number): number[];
  read(pageIndex: number, target: Uint8Array): void;
}

export class MovedPages {
  readonly #known: KnownPages;
  readonly #checksum: Checksum;
  /** True for pages that the transaction has not changed. */
  readonly #isUnchanged: (pageIndex: number) => boolean;
  #changes: DeltaChange[] = [];
  /** Number of failed attempts since the last successful one, and number of attempts that are still to be skipped. */
  #vain = 0;
  #leftOut = 0;
  /** True if this transaction skips the attempt; undefined before its first collected page. */
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

  /** True if the collected pages should be written before more are collected. */
  get isFull(): boolean {
    return this.#changes.length === PAGES_MAX;
  }

  /**
   * Collects the change of a page that differs much. Returns false if the change must be written as an entry of its
   * own. The bytes of `after` must not change until `write`.
   */
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
   * Writes the collected pages as one entry of `writer`, and returns the indexes of those that still exist. If one
   * entry does not save enough, passes each page to `addAlone` instead, and returns an empty list.
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

  /** Returns one entry for these pages if the entry saves enough, otherwise null. */
  #encode(changes: readonly DeltaChange[]): Uint8Array | null {
    const ranges = changes.reduce((bytes, change) => bytes + rangeBytes(change), 0);
    const isInexact = changes.some(({ before, isExact }) => before !== null && !isExact);
    if (isInexact) {
      const known = changes.map((change) => ({ ...change, isExact: change.before !== null }));
      const later = encodeDelta(known, this.#checksum);
      if (later === null || later.length >= INVESTED_PART * ranges) return null;
    }
    const entry = encodeDelta(changes, this.#checksum, () =>
      this.#others(changes.length * OTHERS_PER_PAGE),
    );
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

  #others(count: number): UnchangedPage[] {
    const unchanged = this.#known.lastExact(count).filter(this.#isUnchanged);
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
