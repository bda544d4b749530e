// The entry of a record for pages whose bytes moved. It describes the new bytes as literals and copies from the old
// bytes, and the old bytes likewise from the new ones. A word that is typed into a text shifts all bytes behind it, so
// ranges of a page would hold nearly all of the page twice. Layout: docs/commit-log-format.md.
//
// The old pages of an entry, one after the other, are its *old bytes*; the new pages are its *new bytes*. An undo reads
// the copies of the new bytes in the other direction, so a second script is needed only for old bytes that no copy
// uses.
//
// Invariant: new bytes are copied only from pages that a redo knows exactly, because the log has held those pages whole
// since the last checkpoint began. A page in the main file may be torn, or newer than the record.

import { assert } from '../../../src/shared/contract/invariant.ts';
import { type Checksum, wordsOf } from './checksum.ts';
import {
  Copies,
  damagedDelta,
  findCopies,
  NumberReader,
  readScript,
  type ScriptReader,
  ScriptWriter,
} from './delta.ts';
import { PAGE_BYTES } from './pages.ts';

/** Maximum number of pages of one entry. The limit bounds the memory that reading an entry takes. */
export const DELTA_PAGES_MAX = 1024;

/** Flag in the info of an entry: the entry describes pages whose bytes moved, not the ranges of one page. */
export const DELTA = 1 << 18;

/**
 * If at least this many new bytes are not found in the changed pages, unchanged pages are searched too. Each unchanged
 * page that an entry names takes 15 bytes.
 */
const MISSING_BYTES = 256;

/** Number of words before the checksums of an entry: its length in bytes, its number of pages, and its info. */
const HEADER_WORDS = 3;

/**
 * Flags of a page: `OLD` if the page has old bytes, `NEW` if the page has new bytes. An entry stores the index of each
 * page times `FLAGS`, plus the flags of the page.
 */
const OLD = 1;
const NEW = 2;
const FLAGS = 4;
/** A page with this index or a higher one is written as an entry of its own. */
export const DELTA_INDEX_MAX = 2 ** 30;

/** Flag in the info of an entry: the entry describes only old bytes, because it belongs to a folded record. */
const ONLY_OLD = 1 << 19;

/** How one page changes. `before` or `after` is null if the page does not exist then. */
export interface DeltaChange {
  readonly pageIndex: number;
  readonly before: Uint8Array | null;
  readonly after: Uint8Array | null;
  /** True if a redo knows the old bytes exactly. */
  readonly isExact: boolean;
}

/** A page that a redo knows exactly, and that the record does not change. */
export interface UnchangedPage {
  readonly pageIndex: number;
  readonly bytes: Uint8Array;
}

/** The old bytes of one page, for a folded record. */
export interface EarlierPage {
  readonly pageIndex: number;
  /**
   * For each byte of the page, its offset in the bytes of the source pages, or a negative number: -1 minus the byte.
   */
  readonly sources: Int32Array;
}

// One buffer serves all entries of a worker, because every use ends within one call.
const scripts = new ScriptWriter();

/**
 * Encodes the changes as one entry, whose bytes are valid until the next call. Returns null if no bytes of the pages
 * have moved. If many new bytes are not found in the changed pages, bytes are also copied from the unchanged pages that
 * `others` returns.
 */
export function encodeDelta(
  changes: readonly DeltaChange[],
  checksum: Checksum,
  others: () => readonly UnchangedPage[] = () => [],
): Uint8Array | null {
  assert(changes.length <= DELTA_PAGES_MAX, 'an entry of the log has too many pages');
  // Pages that may be copied come first, so that their bytes are the beginning of the old bytes.
  const sorted = [...changes].sort((one, other) => Number(other.isExact) - Number(one.isExact));
  const old = gather(sorted.map(({ before }) => before));
  const next = gather(sorted.map(({ after }) => after));
  const exact = sorted.filter(({ isExact }) => isExact);
  const exactBytes = PAGE_BYTES * exact.length;
  const copies = findCopies(old.subarray(0, exactBytes), next, placesOf(sorted));
  if (next.length - copies.bytes >= MISSING_BYTES) {
    const used = usedPages(others(), next, copies);
    if (used.length > 0) return encodeDelta([...changes, ...used], checksum);
  }
  const rest = bytesOf(old, copies.sourceGaps(old.length));
  // If no new bytes were found in the old bytes, no old bytes will be found in the new bytes.
  const isVain = copies.count === 0 && exactBytes === old.length;
  const restCopies = isVain ? copies : findCopies(next, rest);
  if (copies.count + restCopies.count === 0) return null;
  scripts.begin(headBytes(sorted.length));
  const sums = sorted.map(({ pageIndex, before, after }) => {
    scripts.addNumber(pageIndex * FLAGS + (before === null ? 0 : OLD) + (after === null ? 0 : NEW));
    return after === null ? 0 : checksum.ofPage(wordsOf(after), pageIndex);
  });
  scripts.addScript(next, copies);
  scripts.addScript(rest, restCopies);
  return finish(sums, DELTA);
}

/**
 * Returns the unchanged pages that contain bytes which no copy covers; none if they contain fewer than `MISSING_BYTES`
 * of such bytes.
 */
function usedPages(
  others: readonly UnchangedPage[],
  next: Uint8Array,
  copies: Copies,
): DeltaChange[] {
  const missing = bytesOf(next, copies.targetGaps(next.length));
  const found = findCopies(gather(others.map(({ bytes }) => bytes)), missing);
  if (found.bytes < MISSING_BYTES) return [];
  const used = new Set<number>();
  for (let copy = 0; copy < found.count; copy++) {
    const from = found.sourceOf(copy);
    const last = from + found.lengthOf(copy) - 1;
    for (let at = Math.floor(from / PAGE_BYTES); at <= Math.floor(last / PAGE_BYTES); at++) {
      used.add(at);
    }
  }
  return [...used].map((at) => {
    const { pageIndex, bytes } = others[at]!;
    return { pageIndex, before: bytes, after: bytes, isExact: true };
  });
}

/** Encodes the entry of a folded record; its bytes are valid until the next call. */
export function encodeEarlier(
  pages: readonly EarlierPage[],
  sourcePages: readonly number[],
): Uint8Array {
  const earlier = new Set(pages.map(({ pageIndex }) => pageIndex));
  const sources = new Set(sourcePages);
  const others = sourcePages.filter((pageIndex) => !earlier.has(pageIndex));
  const both = [...earlier, ...others];
  assert(both.length <= DELTA_PAGES_MAX, 'an entry of the log has too many pages');
  scripts.begin(headBytes(both.length));
  // The source pages are numbered in the order of `sourcePages`, but lie in the entry in the order of `both`.
  const order = both.filter((pageIndex) => sources.has(pageIndex));
  const placeOf = new Map(order.map((pageIndex, place) => [pageIndex, place]));
  const places = sourcePages.map((pageIndex) => placeOf.get(pageIndex)! * PAGE_BYTES);
  for (const pageIndex of both) {
    const flags = (earlier.has(pageIndex) ? OLD : 0) + (sources.has(pageIndex) ? NEW : 0);
    scripts.addNumber(pageIndex * FLAGS + flags);
  }
  const target = new Uint8Array(pages.length * PAGE_BYTES);
  const copies = new Copies();
  pages.forEach((page, place) => {
    addRuns(page.sources, places, target, place * PAGE_BYTES, copies);
  });
  scripts.addScript(target, copies);
  const sums = both.map(() => 0);
  return finish(sums, DELTA | ONLY_OLD);
}

/** A page of an entry, and the place of its bytes in the entry. */
interface Page {
  readonly pageIndex: number;
  /** Checksum of the page's new bytes. */
  readonly newSum: number;
  /** Offset of the page in the entry's old bytes and in its new bytes; -1 if the page has no old or no new bytes. */
  readonly oldAt: number;
  readonly newAt: number;
}

/** Receives the old bytes of an entry's pages as runs. No run crosses the end of a page. */
export interface EarlierRuns {
  /**
   * The old bytes of the page equal bytes that a page, perhaps this one, has after the record: page `from`, from offset
   * `fromAt` on.
   */
  copy(pageIndex: number, at: number, from: number, fromAt: number, length: number): void;
  /** The old bytes of the page equal `bytes` from offset `from` on. */
  literal(pageIndex: number, at: number, bytes: Uint8Array, from: number, length: number): void;
}

/** A decoded entry for pages whose bytes moved. */
export class DeltaEntry {
  readonly kind = 'delta';
  readonly pages: readonly Page[];
  /** Word offset of the end of the entry. */
  readonly end: number;
  readonly isOnlyOld: boolean;
  readonly #bytes: Uint8Array;
  readonly #old: readonly Page[];
  readonly #new: readonly Page[];
  readonly #scriptsAt: number;

  /** Reads the entry at word `at` of a record's bytes. @throws CORRUPT */
  constructor(bytes: Uint8Array, at: number) {
    const words = wordsOf(bytes);
    const [lengthBytes = 0, count = 0, info = 0] = words.subarray(at, at + HEADER_WORDS);
    this.end = at + lengthBytes / 4;
    const fits = lengthBytes % 4 === 0 && this.end <= words.length && count <= DELTA_PAGES_MAX;
    if (!fits || at * 4 + headBytes(count) > this.end * 4) throw damagedDelta();
    this.#bytes = bytes.subarray(0, this.end * 4);
    this.isOnlyOld = (info & ONLY_OLD) !== 0;
    const numbers = new NumberReader(this.#bytes, at * 4 + headBytes(count));
    let [oldAt, newAt] = [0, 0];
    const pages: Page[] = [];
    for (let i = 0; i < count; i++) {
      const number = numbers.next();
      const flags = number % FLAGS;
      const page = {
        pageIndex: Math.floor(number / FLAGS),
        newSum: words[at + HEADER_WORDS + i]!,
        oldAt: (flags & OLD) === 0 ? -1 : oldAt,
        newAt: (flags & NEW) === 0 ? -1 : newAt,
      };
      if (page.oldAt >= 0) oldAt += PAGE_BYTES;
      if (page.newAt >= 0) newAt += PAGE_BYTES;
      pages.push(page);
    }
    this.pages = pages;
    this.#old = pages.filter((page) => page.oldAt >= 0);
    this.#new = pages.filter((page) => page.newAt >= 0);
    this.#scriptsAt = numbers.at;
  }

  /**
   * Passes the new bytes of each page that exists after the record to `put`. `readOld` returns the exact old bytes of a
   * page.
   *
   * @throws CORRUPT, and errors of `readOld`
   */
  redo(
    readOld: (pageIndex: number) => Uint8Array,
    put: (pageIndex: number, page: Uint8Array, newSum: number) => void,
  ): void {
    const next = new Uint8Array(this.#new.length * PAGE_BYTES);
    const bytes = this.#bytes;
    this.#readNew({
      copy: (target, source, length) => {
        let at = target;
        eachRun(source, 0, length, (from, _, count) => {
          const { pageIndex, oldAt } = this.#old[Math.floor(from / PAGE_BYTES)]!;
          next.set(readOld(pageIndex).subarray(from - oldAt, from - oldAt + count), at);
          at += count;
        });
      },
      literal: (target, at, length) => next.set(bytes.subarray(at, at + length), target),
    });
    for (const { pageIndex, newSum, newAt } of this.#new) {
      put(pageIndex, next.slice(newAt, newAt + PAGE_BYTES), newSum);
    }
  }

  /**
   * Passes all old bytes of each page that existed before the record to `runs`. A byte may be passed more than once.
   *
   * @throws CORRUPT
   */
  undo(runs: EarlierRuns): void {
    const copies = new Copies();
    const copy = (old: number, source: number, length: number) =>
      eachRun(old, source, length, (at, fromAt, count) => {
        const target = this.#old[Math.floor(at / PAGE_BYTES)]!;
        const from = this.#new[Math.floor(fromAt / PAGE_BYTES)]!;
        runs.copy(target.pageIndex, at - target.oldAt, from.pageIndex, fromAt - from.newAt, count);
      });
    let restAt = this.#scriptsAt;
    if (!this.isOnlyOld) {
      restAt = this.#readNew({
        copy(target, source, length) {
          copies.add(target, source, length);
          copy(source, target, length);
        },
        literal() {},
      });
    }
    const gaps = copies.sourceGaps(this.#old.length * PAGE_BYTES);
    const targetBytes = lengthOf(gaps);
    const sourceBytes = this.#new.length * PAGE_BYTES;
    readScript(
      this.#bytes,
      restAt,
      { targetBytes, sourceBytes },
      {
        copy: (target, source, length) =>
          eachPart(gaps, target, length, (old, done, count) => copy(old, source + done, count)),
        literal: (target, from, length) =>
          eachPart(gaps, target, length, (old, done, count) => {
            eachRun(old, 0, count, (at, offset, part) => {
              const { pageIndex, oldAt } = this.#old[Math.floor(at / PAGE_BYTES)]!;
              runs.literal(pageIndex, at - oldAt, this.#bytes, from + done + offset, part);
            });
          }),
      },
    );
  }

  /** Reads the script of the new bytes; returns the offset after it. */
  #readNew(reader: ScriptReader): number {
    const targetBytes = this.#new.length * PAGE_BYTES;
    const sourceBytes = this.#old.length * PAGE_BYTES;
    return readScript(this.#bytes, this.#scriptsAt, { targetBytes, sourceBytes }, reader);
  }
}

/** Returns the bytes of the pages that exist, one after the other. */
function gather(pages: readonly (Uint8Array | null)[]): Uint8Array {
  const existing = pages.filter((page) => page !== null);
  const bytes = new Uint8Array(existing.length * PAGE_BYTES);
  for (const [i, page] of existing.entries()) bytes.set(page, i * PAGE_BYTES);
  return bytes;
}

/** Returns the number of bytes before the page numbers of an entry, which follow the checksums of the new bytes. */
function headBytes(pageCount: number): number {
  return 4 * (HEADER_WORDS + pageCount);
}

function finish(sums: readonly number[], info: number): Uint8Array {
  while (scripts.length % 4 !== 0) scripts.addByte(0);
  const bytes = scripts.bytes.subarray(0, scripts.length);
  const words = wordsOf(bytes);
  words[0] = bytes.length;
  words[1] = sums.length;
  words[2] = info;
  words.set(sums, HEADER_WORDS);
  return bytes;
}

/** Returns, for each new page, the offset of the same page in the old bytes; -1 if that page must not be copied. */
function placesOf(changes: readonly DeltaChange[]): Int32Array {
  const places: number[] = [];
  let old = 0;
  for (const { before, after, isExact } of changes) {
    if (after !== null) places.push(isExact ? old : -1);
    if (before !== null) old += PAGE_BYTES;
  }
  return Int32Array.from(places);
}

function lengthOf(gaps: readonly number[]): number {
  let length = 0;
  for (let i = 0; i < gaps.length; i += 2) length += gaps[i + 1]! - gaps[i]!;
  return length;
}

/** Returns the bytes of the gaps, one after the other. */
function bytesOf(bytes: Uint8Array, gaps: readonly number[]): Uint8Array {
  const found = new Uint8Array(lengthOf(gaps));
  let at = 0;
  for (let i = 0; i < gaps.length; i += 2) {
    found.set(bytes.subarray(gaps[i], gaps[i + 1]), at);
    at += gaps[i + 1]! - gaps[i]!;
  }
  return found;
}

/**
 * Splits a part of the concatenated gaps at the ends of the gaps. Passes, for each piece, its offset in the original
 * bytes, the number of bytes passed before, and its length.
 */
function eachPart(
  gaps: readonly number[],
  from: number,
  length: number,
  use: (at: number, done: number, count: number) => void,
): void {
  let skipped = 0;
  let done = 0;
  for (let i = 0; i < gaps.length && done < length; i += 2) {
    const size = gaps[i + 1]! - gaps[i]!;
    const begin = Math.max(from + done - skipped, 0);
    const count = Math.min(size - begin, length - done);
    if (begin < size && count > 0) {
      use(gaps[i]! + begin, done, count);
      done += count;
    }
    skipped += size;
  }
}

/** Splits two runs of equal length at the ends of the pages of either run. */
function eachRun(
  one: number,
  other: number,
  length: number,
  use: (one: number, other: number, count: number) => void,
): void {
  for (let done = 0; done < length; ) {
    const [a, b] = [one + done, other + done];
    const most = Math.min(PAGE_BYTES - (a % PAGE_BYTES), PAGE_BYTES - (b % PAGE_BYTES));
    const count = Math.min(most, length - done);
    use(a, b, count);
    done += count;
  }
}

/** Adds the copied runs of a page to `copies`, and its literals to `target`. */
function addRuns(
  sources: Int32Array,
  places: readonly number[],
  target: Uint8Array,
  targetAt: number,
  copies: Copies,
): void {
  const offsetOf = (source: number) =>
    places[Math.floor(source / PAGE_BYTES)]! + (source % PAGE_BYTES);
  for (let at = 0; at < PAGE_BYTES; ) {
    const first = sources[at]!;
    if (first < 0) {
      target[targetAt + at++] = -1 - first;
      continue;
    }
    let length = 1;
    const most = PAGE_BYTES - Math.max(at, first % PAGE_BYTES);
    while (length < most && sources[at + length] === first + length) length++;
    copies.add(targetAt + at, offsetOf(first), length);
    at += length;
  }
}
