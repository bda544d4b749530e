// The header of a segment: which segment it is, and the state it begins with. The sparse index
// (segment-index.ts) follows in the same 4,096 bytes. Layout: docs/commit-log-format.md.

import type { Checksum } from './checksum.ts';
import { PAGE_BYTES, wordsOf } from './pages.ts';

/** Byte offsets of the header's fields. */
const HEADER = {
  sum: 0,
  magic: 8,
  version: 12,
  number: 16,
  pageBytes: 20,
  baseSequence: 24,
  baseTimeMs: 32,
  baseSum: 40,
  end: 64,
} as const;
const SEGMENT_MAGIC = 0x434c5347;

/** Header and index: where the first record begins. */
export const SEGMENT_HEADER_BYTES = 4096;

/** A position between two commits of a segment, and the last commit before it. */
export interface LogPosition {
  readonly offset: number;
  readonly sequence: number;
  readonly timeMs: number;
  /** Checksum of the record before the position. */
  readonly sum: number;
}

/** The header of a segment with an empty index. */
export function headerBytes(number: number, base: LogPosition, checksum: Checksum): Uint8Array {
  const header = new Uint8Array(SEGMENT_HEADER_BYTES);
  const view = new DataView(header.buffer);
  view.setUint32(HEADER.magic, SEGMENT_MAGIC, true);
  view.setUint32(HEADER.version, checksum.version, true);
  view.setUint32(HEADER.number, number, true);
  view.setUint32(HEADER.pageBytes, PAGE_BYTES, true);
  view.setFloat64(HEADER.baseSequence, base.sequence, true);
  view.setFloat64(HEADER.baseTimeMs, base.timeMs, true);
  view.setFloat64(HEADER.baseSum, base.sum, true);
  view.setFloat64(HEADER.sum, headerSum(header, checksum), true);
  return header;
}

/** The state before the first record; null if the header is torn, or of another object or number. */
export function parseBase(
  header: Uint8Array<ArrayBuffer>,
  number: number,
  checksum: Checksum,
): LogPosition | null {
  const view = new DataView(header.buffer);
  if (view.getUint32(HEADER.magic, true) !== SEGMENT_MAGIC) return null;
  if (view.getUint32(HEADER.version, true) !== checksum.version) return null;
  if (view.getUint32(HEADER.number, true) !== number) return null;
  if (view.getFloat64(HEADER.sum, true) !== headerSum(header, checksum)) return null;
  return {
    offset: SEGMENT_HEADER_BYTES,
    sequence: view.getFloat64(HEADER.baseSequence, true),
    timeMs: view.getFloat64(HEADER.baseTimeMs, true),
    sum: view.getFloat64(HEADER.baseSum, true),
  };
}

function headerSum(header: Uint8Array, checksum: Checksum): number {
  return checksum.ofRecord(wordsOf(header), HEADER.magic >> 2, HEADER.end >> 2);
}
