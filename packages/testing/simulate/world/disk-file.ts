// One file of the simulated disk, and its content after a power failure.
//
// Every change since the last flush is kept with the bytes it replaced, so that the flushed bytes can be recovered. A
// change that a failed flush has dropped is kept permanently, with all later changes. The disks before and after a
// power failure share contents, which are copied on write.
//
// This module knows nothing of names, handles or faults.

import type { Random } from './random.ts';

/** A write or a truncation, with the bytes to undo it. */
interface Change {
  /** The position of the change in the order of all changes of the disk. */
  readonly order: number;
  readonly offset: number;
  /** The written bytes; null for a truncation to `offset`. */
  readonly bytes: Uint8Array | null;
  /** The bytes before the change, from `offset` on: those that were overwritten, or all to the old end of the file. */
  readonly replaced: Uint8Array;
  readonly sizeBefore: number;
  /**
   * Whether the change is stored. `dropped` means that a flush failed and gave it up: programs see it, and no later
   * flush stores it.
   */
  state: 'dirty' | 'flushed' | 'dropped';
}

/** A change, or a part of one, that has reached the disk. */
interface Piece {
  readonly offset: number;
  readonly bytes: Uint8Array | null;
}

/** Decides which unflushed changes of a file survive a power failure. */
export type Fate =
  | { readonly kind: 'all' | 'none' | 'pieces' | 'shuffled' }
  /** All changes before the one with this number survive, and that one is torn. */
  | { readonly kind: 'until'; readonly order: number };

const SECTOR_BYTES = 512;

export class DiskFile {
  #bytes: Uint8Array;
  #size: number;
  #isShared: boolean;
  #changes: Change[] = [];
  /**
   * The number of changes that were stored and forgotten; late flushes need it, because they count from the first
   * change.
   */
  #flushed = 0;

  constructor(bytes: Uint8Array = new Uint8Array(), size = bytes.length) {
    this.#bytes = bytes;
    this.#size = size;
    this.#isShared = true;
  }

  get sizeBytes(): number {
    return this.#size;
  }

  get isClean(): boolean {
    return this.#changes.length === 0;
  }

  /** The order number of each change that is not flushed. */
  get unflushed(): number[] {
    return this.#changes.filter(({ state }) => state !== 'flushed').map(({ order }) => order);
  }

  read(target: Uint8Array, offset: number): number {
    const count = Math.max(0, Math.min(target.length, this.#size - offset));
    if (count > 0) target.set(this.#bytes.subarray(offset, offset + count));
    return count;
  }

  write(bytes: Uint8Array, offset: number, order: number): void {
    this.#note({ offset, bytes: bytes.slice() }, order);
    this.#put(bytes, offset);
  }

  truncate(sizeBytes: number, order: number): void {
    this.#note({ offset: sizeBytes, bytes: null }, order);
    this.#resize(sizeBytes);
  }

  /**
   * Returns the number of changes that a flush covers if it begins now; the end of the flush passes it to `flushed`.
   */
  covered(): number {
    return this.#flushed + this.#changes.length;
  }

  flushed(covered: number): void {
    this.#settle(covered, 'flushed');
    while (this.#changes[0]?.state === 'flushed') {
      this.#changes.shift();
      this.#flushed += 1;
    }
  }

  /** Records that a flush failed and dropped the changes it covers. */
  dropped(covered: number): void {
    this.#settle(covered, 'dropped');
  }

  /** Returns the file after a power failure. */
  survivor(fate: Fate, random: Random): DiskFile {
    this.#isShared = true;
    const survivor = new DiskFile(this.#bytes, this.#size);
    if (fate.kind === 'all' || this.isClean) return survivor;
    for (const { offset, replaced, sizeBefore } of this.#changes.toReversed()) {
      survivor.#put(replaced, offset);
      survivor.#resize(sizeBefore);
    }
    // Flushed bytes survive in their place, whatever happens to earlier changes that were dropped.
    const ofLast = this.#changes.findLastIndex(({ state }) => state === 'flushed') + 1;
    const kept = this.#changes.slice(0, ofLast).flatMap((change) => {
      const survives = change.state === 'flushed' || (fate.kind !== 'none' && random.onceIn(3));
      return survives ? [change] : [];
    });
    const rest = surviving(this.#changes.slice(ofLast), fate, random);
    for (const { bytes, offset } of [...kept, ...rest]) {
      if (bytes === null) survivor.#resize(offset);
      else survivor.#put(bytes, offset);
    }
    return survivor;
  }

  /** Damages stored bytes, which no flush or undo changes. */
  damage(change: (bytes: Uint8Array) => void): void {
    this.#own(this.#size);
    change(this.#bytes.subarray(0, this.#size));
  }

  /** Damages the file by truncating it. */
  cut(sizeBytes: number): void {
    this.#resize(sizeBytes);
  }

  #settle(covered: number, state: 'flushed' | 'dropped'): void {
    for (const change of this.#changes.slice(0, Math.max(0, covered - this.#flushed))) {
      if (change.state === 'dirty') change.state = state;
    }
  }

  #note({ offset, bytes }: Piece, order: number): void {
    const end = bytes === null ? this.#size : offset + bytes.length;
    const replaced = this.#bytes.slice(offset, Math.max(offset, Math.min(end, this.#size)));
    this.#changes.push({ order, offset, bytes, replaced, sizeBefore: this.#size, state: 'dirty' });
  }

  #put(bytes: Uint8Array, offset: number): void {
    if (bytes.length === 0) return;
    const end = offset + bytes.length;
    this.#own(Math.max(end, this.#size));
    this.#bytes.set(bytes, offset);
    this.#size = Math.max(end, this.#size);
  }

  #resize(sizeBytes: number): void {
    if (sizeBytes === this.#size) return;
    this.#own(Math.max(sizeBytes, this.#size));
    if (sizeBytes < this.#size) this.#bytes.fill(0, sizeBytes, this.#size);
    this.#size = sizeBytes;
  }

  /** Copies bytes that are shared with another file, and makes room up to a size; the bytes after the end are zeros. */
  #own(sizeBytes: number): void {
    if (!this.#isShared && sizeBytes <= this.#bytes.length) return;
    const isGrowing = sizeBytes > this.#bytes.length;
    const room = isGrowing ? Math.max(sizeBytes, 2 * this.#size, 1024) : this.#bytes.length;
    const own = new Uint8Array(room);
    own.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = own;
    this.#isShared = false;
  }
}

/** Returns the pieces of unflushed changes that survive. */
function surviving(changes: readonly Change[], fate: Fate, random: Random): Piece[] {
  if (fate.kind === 'none' || fate.kind === 'all') return [];
  if (fate.kind === 'until') {
    const kept: Piece[] = changes.filter(({ order }) => order < fate.order);
    const last = changes.find(({ order }) => order === fate.order);
    if (last !== undefined) kept.push(...torn(last, random));
    return kept;
  }
  const oddsOfTen = random.pick([1, 3, 5, 7, 9]);
  const pieces = changes
    .flatMap((change) => cut(change, random))
    .filter(() => random.below(10) < oddsOfTen);
  return fate.kind === 'shuffled' ? random.shuffle(pieces) : pieces;
}

/** Splits a change at any byte, or sometimes at sectors. */
function cut({ offset, bytes }: Change, random: Random): Piece[] {
  if (bytes === null) return [{ offset, bytes }];
  const cuts = new Set([bytes.length]);
  for (let i = random.below(6); i > 0; i--) cuts.add(random.below(bytes.length + 1));
  if (random.onceIn(3)) {
    const step = SECTOR_BYTES * (1 + random.below(4));
    for (let at = SECTOR_BYTES - (offset % SECTOR_BYTES); at < bytes.length; at += step)
      cuts.add(at);
  }
  const pieces: Piece[] = [];
  let start = 0;
  for (const end of [...cuts].sort((a, b) => a - b)) {
    if (end > start) pieces.push({ offset: offset + start, bytes: bytes.subarray(start, end) });
    start = end;
  }
  return pieces;
}

/** Returns the beginning of a change, or all of it, or nothing. */
function torn({ offset, bytes }: Change, random: Random): Piece[] {
  if (bytes === null) return random.onceIn(2) ? [{ offset, bytes }] : [];
  return [{ offset, bytes: bytes.subarray(0, random.below(bytes.length + 1)) }];
}
