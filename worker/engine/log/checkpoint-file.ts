// The checkpoint file: how much of the log the main file contains, and a checksum of every page in it.
//
// Two slots are written alternately, so that a torn slot leaves the other one; using the older slot
// only means that more of the log is redone. Two more, also written alternately, are each flushed before
// the pages of the main file are written: these pages may be newer than the newest slot, so the log must
// reach the positions that these two name. The table of page checksums follows. Entries of pages that
// changed since the slot may be old, new or torn, but those pages are redone from the log and not read
// from the main file. Layout: docs/commit-log-format.md.

import { storageError } from '../../../src/shared/contract/errors.ts';
import { assert } from '../../../src/shared/contract/invariant.ts';
import type { Flushing, SyncFile } from '../file/file.ts';

import { Checksum, FORMAT_VERSION, wordsOf } from './checksum.ts';
import type { LogPosition } from './log-position.ts';

/** Offsets of the fields of a slot, in bytes. */
const SLOT = {
  sum: 0,
  magic: 8,
  version: 12,
  salt: 16,
  pageCount: 20,
  generation: 24,
  restoreTarget: 32,
  segment: 40,
  offset: 48,
  sequence: 56,
  timeMs: 64,
  recordSum: 72,
  restoreSum: 80,
} as const;
const SLOT_BYTES = 88;
/** Distance between slots: one sector, so that a write tears at most one of them. */
const SLOT_STRIDE_BYTES = 512;
const SLOT_MAGIC = 0x434c4350;
/** Offset of the first of the two slots that checkpoints write when they begin. */
const BEGUN_OFFSET = 2 * SLOT_STRIDE_BYTES;
/** Offset of the table of page checksums, which has four bytes per page. */
const TABLE_OFFSET = 4096;
/** Stored in place of a sequence if no restore is pending. */
export const NO_RESTORE = -1;

const BLOCK_SUMS = 1024;
const BLOCK_BYTES = BLOCK_SUMS * 4;

/** A restore that the next opening of the object performs. */
export interface PendingRestore {
  /** Sequence of the last commit that the restore keeps. */
  readonly sequence: number;
  /** Checksum that the commit of that sequence must have; 0 if any commit with that sequence is meant. */
  readonly sum: number;
  /**
   * The author of the restore, for its commit. Only the marker in the log stores the author, so a checkpoint before the
   * restore loses it.
   */
  readonly annotation?: Uint8Array;
}

/** The content of a slot. */
export interface Checkpoint {
  /** Number of pages in the main file. */
  readonly pageCount: number;
  readonly pendingRestore: PendingRestore | null;
  /** The main file contains everything before this position of this segment. */
  readonly segment: number;
  readonly position: LogPosition;
}

export class CheckpointFile {
  readonly #file: SyncFile;
  readonly #blocks = new Map<number, Uint32Array>();
  readonly #dirty = new Set<number>();
  /** Computes the checksums of this object. */
  readonly checksum: Checksum;
  /** The last checkpoint written. */
  #last: Checkpoint;
  #previousSegment: number;
  #generation: number;
  /** The last checkpoints that began before this opening; slots that are not intact are left out. */
  #begun: readonly Checkpoint[] = [];
  #begunGeneration = 0;
  /** The format versions of the two slots; 0 for one that is not intact. */
  readonly #versions: [number, number] = [0, 0];

  private constructor(file: SyncFile, checksum: Checksum, last: Checkpoint, generation: number) {
    this.#file = file;
    this.checksum = checksum;
    this.#last = last;
    this.#previousSegment = last.segment;
    this.#generation = generation;
  }

  /** Writes the first slot of a new object; the caller flushes it before creating anything else. */
  static create(file: SyncFile, salt: number, first: Checkpoint): CheckpointFile {
    file.truncate(0);
    const created = new CheckpointFile(file, new Checksum(salt), first, 0);
    created.writeSlot(first);
    return created;
  }

  /**
   * Reads the newest intact slot of a file; null if there is none.
   *
   * @throws FORMAT_TOO_NEW if the only slots have a version that this code cannot read yet.
   */
  static read(file: SyncFile): CheckpointFile | null {
    let newest: CheckpointFile | null = null;
    const versions = [0, 0];
    for (const [place, offset] of [0, SLOT_STRIDE_BYTES].entries()) {
      const found = readSlot(file, offset);
      if (found === null) continue;
      versions[place] = found.version;
      const other = newest;
      if (other === null || found.generation > other.#generation) {
        newest = new CheckpointFile(file, found.checksum, found.checkpoint, found.generation);
      }
      if (other !== null) {
        const segments = [other.#last.segment, found.checkpoint.segment];
        (newest ?? other).#previousSegment = Math.min(...segments);
      }
    }
    if (newest === null) refuseNewer(file);
    else newest.#readBegun(versions);
    return newest;
  }

  /**
   * True if a record may hold differences of pages. While a slot has the format version before, a build of that version
   * could open the object with that slot, but could not read such a record.
   */
  get mayHoldDeltas(): boolean {
    const before = FORMAT_VERSION - 1;
    return this.#versions[0] !== before && this.#versions[1] !== before;
  }

  get last(): Checkpoint {
    return this.#last;
  }

  /** Number of checkpoints that ended before the last one. */
  get generation(): number {
    return this.#generation;
  }

  /** The oldest segment that opening may read, whichever slot survives. */
  get firstSegmentNeeded(): number {
    return Math.min(this.#previousSegment, this.#last.segment);
  }

  /** True if a checkpoint that began proves that the log was once durable beyond this position. */
  provesLonger(segment: number, offset: number): boolean {
    return this.#begun.some((begun) => {
      if (segment !== begun.segment) return segment < begun.segment;
      return offset < begun.position.offset;
    });
  }

  /**
   * Makes durable how much of the log the main file will contain, and the checksums set so far. Only
   * then may the pages be written.
   */
  *begin(checkpoint: Checkpoint): Flushing<void> {
    const generation = this.#begunGeneration + 1;
    const at = BEGUN_OFFSET + (generation % 2) * SLOT_STRIDE_BYTES;
    this.#file.write(this.#slotBytes(checkpoint, generation), at);
    this.writeSums();
    yield this.#file.flush();
    // Count it only now: until this slot is durable, the other slot is the only proof of how far the log was durable.
    this.#begunGeneration = generation;
  }

  /** Overwrites the older slot. The caller flushes it before the next one is written. */
  writeSlot(checkpoint: Checkpoint): void {
    assert(!isBefore(checkpoint, this.#last), 'a checkpoint goes back in the log');
    const generation = this.#generation + 1;
    const bytes = this.#slotBytes(checkpoint, generation);
    // A write that fails is repeated in its place: the other slot is the only intact one.
    this.#file.write(bytes, (generation % 2) * SLOT_STRIDE_BYTES);
    this.#generation = generation;
    this.#versions[generation % 2] = FORMAT_VERSION;
    this.#previousSegment = this.#last.segment;
    this.#last = checkpoint;
  }

  /** Writes the present slots once more, so that the next flush stores them. */
  rewriteSlots(): void {
    const slots = new Uint8Array(2 * SLOT_STRIDE_BYTES);
    const count = this.#file.read(slots, 0);
    this.#file.write(slots.subarray(0, count), 0);
  }

  /** Checksum of a page, for pages that are read from the main file. */
  pageSum(pageIndex: number): number {
    return this.#block(pageIndex)[pageIndex % BLOCK_SUMS]!;
  }

  /** Sets the checksum of a page of the main file; `writeSums` writes it. */
  setPageSum(pageIndex: number, sum: number): void {
    this.#block(pageIndex)[pageIndex % BLOCK_SUMS] = sum;
    this.#dirty.add(Math.floor(pageIndex / BLOCK_SUMS));
  }

  /** Writes the changed blocks of the table. */
  writeSums(): void {
    for (const number of this.#dirty) {
      const block = this.#blocks.get(number)!;
      this.#file.write(new Uint8Array(block.buffer), TABLE_OFFSET + number * BLOCK_BYTES);
      this.#dirty.delete(number);
    }
  }

  flush(): void | Promise<void> {
    return this.#file.flush();
  }

  close(): void {
    this.#file.close();
  }

  #readBegun(versions: readonly number[]): void {
    for (const place of [0, 1] as const) this.#versions[place] = versions[place]!;
    const offsets = [BEGUN_OFFSET, BEGUN_OFFSET + SLOT_STRIDE_BYTES];
    const found = offsets.map((at) => readSlot(this.#file, at)).filter((slot) => slot !== null);
    this.#begun = found.map(({ checkpoint }) => checkpoint);
    this.#begunGeneration = Math.max(0, ...found.map(({ generation }) => generation));
  }

  #slotBytes(checkpoint: Checkpoint, generation: number): Uint8Array {
    const bytes = new Uint8Array(SLOT_BYTES);
    const view = new DataView(bytes.buffer);
    view.setUint32(SLOT.magic, SLOT_MAGIC, true);
    view.setUint32(SLOT.version, FORMAT_VERSION, true);
    view.setUint32(SLOT.salt, this.checksum.salt, true);
    view.setUint32(SLOT.pageCount, checkpoint.pageCount, true);
    view.setFloat64(SLOT.generation, generation, true);
    const { pendingRestore } = checkpoint;
    view.setFloat64(SLOT.restoreTarget, pendingRestore?.sequence ?? NO_RESTORE, true);
    view.setFloat64(SLOT.restoreSum, pendingRestore?.sum ?? 0, true);
    view.setFloat64(SLOT.segment, checkpoint.segment, true);
    view.setFloat64(SLOT.offset, checkpoint.position.offset, true);
    view.setFloat64(SLOT.sequence, checkpoint.position.sequence, true);
    view.setFloat64(SLOT.timeMs, checkpoint.position.timeMs, true);
    view.setFloat64(SLOT.recordSum, checkpoint.position.sum, true);
    view.setFloat64(SLOT.sum, slotSum(bytes), true);
    return bytes;
  }

  #block(pageIndex: number): Uint32Array {
    const number = Math.floor(pageIndex / BLOCK_SUMS);
    let block = this.#blocks.get(number);
    if (block === undefined) {
      block = new Uint32Array(BLOCK_SUMS);
      this.#file.read(new Uint8Array(block.buffer), TABLE_OFFSET + number * BLOCK_BYTES);
      this.#blocks.set(number, block);
    }
    return block;
  }
}

function isBefore(one: Checkpoint, other: Checkpoint): boolean {
  if (one.segment !== other.segment) return one.segment < other.segment;
  return one.position.offset < other.position.offset;
}

/** Decodes the two numbers that store a pending restore or its absence. */
export function pendingRestore(sequence: number, sum: number): PendingRestore | null {
  return sequence === NO_RESTORE ? null : { sequence, sum };
}

// The salt is known only from an intact slot, so the slot's own checksum has a fixed seed.
function slotSum(bytes: Uint8Array): number {
  return new Checksum(SLOT_MAGIC).ofRecord(wordsOf(bytes), SLOT.magic >> 2, SLOT_BYTES >> 2);
}

function refuseNewer(file: SyncFile): void {
  const bytes = new Uint8Array(SLOT_BYTES);
  const view = new DataView(bytes.buffer);
  for (const offset of [0, SLOT_STRIDE_BYTES]) {
    file.read(bytes, offset);
    const version = view.getUint32(SLOT.version, true);
    if (view.getUint32(SLOT.magic, true) !== SLOT_MAGIC || version <= FORMAT_VERSION) continue;
    throw storageError(
      'FORMAT_TOO_NEW',
      `open: the files of the object have format version ${version}; this code reads version ` +
        `${FORMAT_VERSION}. Update the package.`,
    );
  }
}

function readSlot(file: SyncFile, at: number) {
  const bytes = new Uint8Array(SLOT_BYTES);
  if (file.read(bytes, at) < SLOT_BYTES) return null;
  const view = new DataView(bytes.buffer);
  if (view.getUint32(SLOT.magic, true) !== SLOT_MAGIC) return null;
  const version = view.getUint32(SLOT.version, true);
  if (version !== FORMAT_VERSION && version !== FORMAT_VERSION - 1) return null;
  if (view.getFloat64(SLOT.sum, true) !== slotSum(bytes)) return null;
  const double = (offset: number) => view.getFloat64(offset, true);
  const checkpoint: Checkpoint = {
    pageCount: view.getUint32(SLOT.pageCount, true),
    pendingRestore: pendingRestore(double(SLOT.restoreTarget), double(SLOT.restoreSum)),
    segment: double(SLOT.segment),
    position: {
      offset: double(SLOT.offset),
      sequence: double(SLOT.sequence),
      timeMs: double(SLOT.timeMs),
      sum: double(SLOT.recordSum),
    },
  };
  return {
    version,
    checkpoint,
    checksum: new Checksum(view.getUint32(SLOT.salt, true)),
    generation: double(SLOT.generation),
  };
}
