// Delta encoding: describes the bytes of a target as copies from a source and as literals, which are bytes that the
// source does not have.
//
// A script is a sequence of steps, each a count of literals, the literals, the length of a copy, and where it begins in
// the source. The script ends where the target ends, which may be after literals. Layout: docs/commit-log-format.md.
//
// Invariants: reading a script visits each byte of the target once, in order, and never leaves the source, the target or
// the script; any other bytes are CORRUPT. Searching takes time in proportion to the bytes of both, and less where
// nothing is found.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { wordsOf } from './checksum.ts';
import { PAGE_BYTES } from './pages.ts';

/** The copies of a script in the order of the target, three numbers each: target offset, source offset, length. */
export class Copies {
  #numbers = new Int32Array(3 * 64);
  /** Number of copies, and the sum of their lengths in bytes. */
  count = 0;
  bytes = 0;

  add(target: number, source: number, length: number): void {
    const at = this.count * 3;
    if (at === this.#numbers.length) {
      const grown = new Int32Array(this.#numbers.length * 2);
      grown.set(this.#numbers);
      this.#numbers = grown;
    }
    this.#numbers[at] = target;
    this.#numbers[at + 1] = source;
    this.#numbers[at + 2] = length;
    this.count++;
    this.bytes += length;
  }

  targetOf(copy: number): number {
    return this.#numbers[copy * 3]!;
  }

  sourceOf(copy: number): number {
    return this.#numbers[copy * 3 + 1]!;
  }

  lengthOf(copy: number): number {
    return this.#numbers[copy * 3 + 2]!;
  }

  /** Returns the parts of the target that no copy covers, in order: pairs of begin and end. */
  targetGaps(targetBytes: number): number[] {
    return this.#gaps(this.#all, (copy) => this.targetOf(copy), targetBytes);
  }

  /** Returns the parts of the source that no copy covers, in order: pairs of begin and end. */
  sourceGaps(sourceBytes: number): number[] {
    const order = this.#all.sort((one, other) => this.sourceOf(one) - this.sourceOf(other));
    return this.#gaps(order, (copy) => this.sourceOf(copy), sourceBytes);
  }

  get #all(): number[] {
    return Array.from({ length: this.count }, (_, copy) => copy);
  }

  #gaps(order: readonly number[], beginOf: (copy: number) => number, bytes: number): number[] {
    const gaps: number[] = [];
    let end = 0;
    for (const copy of order) {
      const begin = beginOf(copy);
      if (begin > end) gaps.push(end, begin);
      end = Math.max(end, begin + this.lengthOf(copy));
    }
    if (bytes > end) gaps.push(end, bytes);
    return gaps;
  }
}

/**
 * The index of a source has the block of this length at each multiple of this length. An equal run may be missed if it
 * contains no whole block, so if it is shorter than twice this.
 */
const BLOCK_BYTES = 16;
/**
 * Length of the runs that a sample compares. The source has a run at each multiple of this length, so any bytes of
 * twice the length contain a whole run of the source.
 */
const RUN_BYTES = 32;
/** If the target has fewer pages than this, more places of each page are sampled. */
const FEW_PAGES = 8;
/** Minimum length of a copy from the expected place of the page. Such a copy is found without the index. */
const PLACE_BYTES_MIN = 8;
/**
 * Each time that this power of two of offsets in a row have no copy, the search steps over one byte more: where nothing is
 * found, a long search costs little.
 */
const SKIP_SHIFT = 5;
const TABLE_ENTRIES_MIN = 1 << 8;
const TABLE_ENTRIES_MAX = 1 << 16;
const NO_PLACES = new Int32Array(0);

// One table serves all searches of a worker, because every use ends within one call.
let table = new Int32Array(TABLE_ENTRIES_MIN);

/**
 * Finds copies of runs of the source in the target. `places` gives, for each page of the target, the offset of the same
 * page in the source, or -1 if there is none to copy from. That place is tried first, because most bytes of a changed
 * page stay where they are.
 */
export function findCopies(
  source: Uint8Array,
  target: Uint8Array,
  places: Int32Array = NO_PLACES,
): Copies {
  const copies = new Copies();
  const from = viewOf(source);
  const to = viewOf(target);
  const mask = indexSource(from);
  let end = 0; // the end of the last copy in the target
  let misses = 0;
  for (let at = 0; at < target.length; ) {
    const page = Math.floor(at / PAGE_BYTES);
    const place = page < places.length ? places[page]! : -1;
    let begin = place + (at % PAGE_BYTES);
    let length = place < 0 ? 0 : equalBytes(from, begin, to, at);
    if (length < PLACE_BYTES_MIN) {
      length = 0;
      if (mask > 0 && at + BLOCK_BYTES <= target.length) {
        begin = table[hashAt(to, at) & mask]!;
        if (begin >= 0) length = equalBytes(from, begin, to, at);
      }
      if (length < BLOCK_BYTES) {
        at += 1 + (misses++ >>> SKIP_SHIFT);
        continue;
      }
    }
    let back = 0;
    while (at - back > end && back < begin && target[at - back - 1] === source[begin - back - 1]) {
      back++;
    }
    copies.add(at - back, begin - back, length + back);
    at += length;
    end = at;
    misses = 0;
  }
  return copies;
}

/**
 * True if a sample of the target pages has a run of bytes that one of the source pages has too. This is a cheap test
 * whether a search may find anything. Runs shorter than about 60 bytes are mostly missed. Runs that repeat one word are
 * ignored, because zeros follow the end of most values.
 */
export function haveCommonRun(
  sources: readonly Uint8Array[],
  targets: readonly Uint8Array[],
): boolean {
  const mask = emptyTable((sources.length * PAGE_BYTES) / RUN_BYTES);
  for (let page = 0; page < sources.length; page++) {
    const words = wordsOf(sources[page]!);
    for (let word = 0; word + RUN_BYTES / 4 <= words.length; word += RUN_BYTES / 4) {
      const place = page * PAGE_BYTES + 4 * word;
      if (words[word] !== words[word + 1])
        table[hashOf(words[word]!, words[word + 1]!) & mask] = place;
    }
  }
  const step = targets.length < FEW_PAGES ? PAGE_BYTES / 4 : PAGE_BYTES / 2;
  for (let i = 0; i < targets.length; i++) {
    const view = viewOf(targets[i]!);
    for (let at = step; at + RUN_BYTES < PAGE_BYTES; at = nextSample(at, step)) {
      const [one, other] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
      const place = one === other ? -1 : table[hashOf(one, other) & mask]!;
      if (place < 0) continue;
      const source = viewOf(sources[Math.floor(place / PAGE_BYTES)]!);
      if (equalBytes(source, place % PAGE_BYTES, view, at) >= RUN_BYTES) return true;
    }
  }
  return false;
}

/**
 * Returns the offset that a sample looks at after `at`. A sample looks at `RUN_BYTES` offsets in a row, from each
 * multiple of `step` on.
 */
function nextSample(at: number, step: number): number {
  return (at + 1) % step < RUN_BYTES ? at + 1 : at + 1 - RUN_BYTES + step;
}

/** Writes scripts into a buffer that grows. */
export class ScriptWriter {
  bytes = new Uint8Array(1 << 12);
  length = 0;

  /** Starts a script after `reservedBytes` bytes, which the caller fills in. */
  begin(reservedBytes: number): void {
    this.length = 0;
    this.#reserve(reservedBytes);
    this.length = reservedBytes;
  }

  addByte(byte: number): void {
    this.#reserve(1);
    this.bytes[this.length++] = byte;
  }

  addBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Adds the script that builds the target from copies and literals. The script of an empty target is empty. */
  addScript(target: Uint8Array, copies: Copies): void {
    let at = 0;
    let expected = 0;
    for (let copy = 0; copy < copies.count; copy++) {
      const begin = copies.targetOf(copy);
      this.addNumber(begin - at);
      this.addBytes(target.subarray(at, begin));
      const source = copies.sourceOf(copy);
      const length = copies.lengthOf(copy);
      this.addNumber(length);
      const distance = source - expected;
      this.addNumber(distance < 0 ? -2 * distance - 1 : 2 * distance);
      expected = source + length;
      at = begin + length;
    }
    if (at === target.length) return;
    this.addNumber(target.length - at);
    this.addBytes(target.subarray(at));
  }

  /** Adds a number below 2^32. */
  addNumber(value: number): void {
    this.#reserve(NUMBER_BYTES_MAX);
    let rest = value;
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.bytes[this.length++] = rest;
  }

  #reserve(moreBytes: number): void {
    if (this.length + moreBytes <= this.bytes.length) return;
    const grown = new Uint8Array(2 * this.bytes.length + moreBytes);
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }
}

/** Maximum size of an encoded number in bytes: every number in a script is below 2^32. */
const NUMBER_BYTES_MAX = 5;

/** Reads the numbers in a script. */
export class NumberReader {
  readonly #bytes: Uint8Array;
  /** The offset of the next number. */
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  /** Reads the next number. @throws CORRUPT */
  next(): number {
    let value = 0;
    for (let shift = 0; shift < 7 * NUMBER_BYTES_MAX; shift += 7) {
      if (this.at >= this.#bytes.length) throw damagedDelta();
      const byte = this.#bytes[this.at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw damagedDelta();
  }
}

/** Receives the steps of a script, in the order of the target's bytes. */
export interface ScriptReader {
  /** The next `length` bytes of the target equal the bytes of the source from offset `source` on. */
  copy(target: number, source: number, length: number): void;
  /** The next `length` bytes of the target equal the bytes of the script from offset `at` on. */
  literal(target: number, at: number, length: number): void;
}

/**
 * Reads the script that begins at `from`; returns the offset after the script.
 *
 * @throws CORRUPT if the script reaches outside the source, the target or `bytes`
 */
export function readScript(
  bytes: Uint8Array,
  from: number,
  { targetBytes, sourceBytes }: { readonly targetBytes: number; readonly sourceBytes: number },
  reader: ScriptReader,
): number {
  const numbers = new NumberReader(bytes, from);
  let target = 0;
  let expected = 0;
  while (target < targetBytes) {
    const literals = numbers.next();
    const { at } = numbers;
    if (literals > targetBytes - target || literals > bytes.length - at) throw damagedDelta();
    if (literals > 0) reader.literal(target, at, literals);
    numbers.at += literals;
    target += literals;
    if (target === targetBytes) break;
    const length = numbers.next();
    const distance = numbers.next();
    const source = expected + (distance % 2 === 1 ? -(distance + 1) / 2 : distance / 2);
    const fits = length > 0 && length <= targetBytes - target;
    if (!fits || source < 0 || source + length > sourceBytes) throw damagedDelta();
    reader.copy(target, source, length);
    target += length;
    expected = source + length;
  }
  return numbers.at;
}

export function damagedDelta() {
  return storageError('CORRUPT', 'history: the differences in a record of the log are damaged.');
}

/**
 * Adds the blocks of a source to the table. Returns the mask for the hashes in the table, or 0 if the source has no
 * block.
 */
function indexSource(from: DataView): number {
  const blocks = Math.floor(from.byteLength / BLOCK_BYTES);
  if (blocks === 0) return 0;
  const mask = emptyTable(blocks);
  for (let block = 0; block < blocks; block++) {
    table[hashAt(from, block * BLOCK_BYTES) & mask] = block * BLOCK_BYTES;
  }
  return mask;
}

/** Empties a table for about this many entries; returns the mask for its hashes. */
function emptyTable(count: number): number {
  let entries = TABLE_ENTRIES_MIN;
  while (entries < 2 * count && entries < TABLE_ENTRIES_MAX) entries *= 2;
  if (entries > table.length) table = new Int32Array(entries);
  table.fill(-1, 0, entries);
  return entries - 1;
}

function hashOf(one: number, other: number): number {
  const mixed = Math.imul(one, 0x9e3779b1) ^ Math.imul(other, 0x85ebca6b);
  return mixed ^ (mixed >>> 15);
}

function hashAt(view: DataView, at: number): number {
  const one = view.getUint32(at, true) ^ Math.imul(view.getUint32(at + 8, true), 0x85ebca6b);
  const other = view.getUint32(at + 4, true) ^ Math.imul(view.getUint32(at + 12, true), 0xc2b2ae35);
  const mixed = Math.imul(one, 0x9e3779b1) ^ Math.imul(other, 0x27d4eb2f);
  return mixed ^ (mixed >>> 15);
}

/** Returns the length of the equal run that begins at offset `begin` of `from` and at offset `at` of `to`. */
function equalBytes(from: DataView, begin: number, to: DataView, at: number): number {
  const most = Math.min(from.byteLength - begin, to.byteLength - at);
  let length = 0;
  while (
    length + 4 <= most &&
    from.getUint32(begin + length, true) === to.getUint32(at + length, true)
  )
    length += 4;
  while (length < most && from.getUint8(begin + length) === to.getUint8(at + length)) length++;
  return length;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
