// What the bytes of a segment's file prove when its header or its chain of records does not reach
// them: whether a commit that is missing was durable, and whether anything is there at all.

import type { SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { wordsOf } from './pages.ts';
import { isIntact, parseHeader, RECORD, RECORD_HEADER_BYTES, RECORD_MAGIC } from './record.ts';
import { WINDOW_BYTES, WindowReader } from './window-reader.ts';

/**
 * True if a record after `offset` proves that a commit after `sequence` was durable. That commit is
 * then missing because of damage, not because of a crash.
 */
export function provesFlushed(
  file: SyncFile,
  offset: number,
  sequence: number,
  checksum: Checksum,
): boolean {
  const reader = new WindowReader(file);
  const size = file.sizeBytes();
  for (let at = offset; at + RECORD_HEADER_BYTES <= size; at += 8) {
    const head = reader.view(at, RECORD_HEADER_BYTES);
    if (head === null) return false;
    if (wordsOf(head)[RECORD.magic >> 2] !== RECORD_MAGIC) continue;
    const record = parseHeader(head);
    if (record === null || record.durableSequence <= sequence) continue;
    const bytes = reader.view(at, record.length);
    if (bytes !== null && isIntact(bytes, record, checksum)) return true;
  }
  return false;
}

/** True for the file of a pruned segment, which was emptied. Zeros count as nothing: they hold no record. */
export function isEmptied(file: SyncFile): boolean {
  return isZeroFrom(file, 0);
}

/** True when a file holds nothing but zeros from `offset` on. */
export function isZeroFrom(file: SyncFile, offset: number): boolean {
  const reader = new WindowReader(file);
  const size = file.sizeBytes();
  for (let at = offset; at < size; at += WINDOW_BYTES) {
    const bytes = reader.view(at, Math.min(WINDOW_BYTES, size - at));
    if (bytes === null) return false;
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  }
  return true;
}
