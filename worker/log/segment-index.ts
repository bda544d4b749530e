// The sparse index of a segment: positions between commits, in order, so that one is found without
// reading the whole segment. It is stored in the segment's header.
//
// Invariant: it only saves time. A lost or torn index is an empty one, and reading then begins at the
// segment's first record. Layout: docs/commit-log-format.md.

import type { SyncFile } from '../file/file.ts';
import type { Checksum } from './checksum.ts';
import { wordsOf } from './pages.ts';
import { type LogPosition, SEGMENT_HEADER_BYTES } from './segment-header.ts';

/** Byte offsets in the segment's header. */
const INDEX = { sum: 64, count: 72, entries: 80 } as const;

/** Byte offsets of one entry. */
const ENTRY = { offset: 0, sequence: 8, timeMs: 16, sum: 24 } as const;
const ENTRY_BYTES = 32;
export const INDEX_ENTRIES_MAX = Math.floor((SEGMENT_HEADER_BYTES - INDEX.entries) / ENTRY_BYTES);

/** Log bytes between two entries; doubled each time the index is full. */
const SPACING_BYTES = 1 << 16;

export class SegmentIndex {
  #entries: LogPosition[] = [];
  #spacingBytes = SPACING_BYTES;

  /** Reads the index in a segment's header. */
  static read(header: Uint8Array<ArrayBuffer>, checksum: Checksum): SegmentIndex {
    const index = new SegmentIndex();
    const view = new DataView(header.buffer);
    if (view.getFloat64(INDEX.sum, true) !== indexSum(header, checksum)) return index;
    const count = Math.min(view.getUint32(INDEX.count, true), INDEX_ENTRIES_MAX);
    for (let i = 0; i < count; i++) {
      const at = INDEX.entries + i * ENTRY_BYTES;
      index.#entries.push({
        offset: view.getFloat64(at + ENTRY.offset, true),
        sequence: view.getFloat64(at + ENTRY.sequence, true),
        timeMs: view.getFloat64(at + ENTRY.timeMs, true),
        sum: view.getFloat64(at + ENTRY.sum, true),
      });
    }
    while (index.#spacingBytes * INDEX_ENTRIES_MAX < (index.#entries.at(-1)?.offset ?? 0)) {
      index.#spacingBytes *= 2;
    }
    return index;
  }

  get entries(): readonly LogPosition[] {
    return this.#entries;
  }

  /** Offers the end of a commit, after those before it; few are kept. `base`: where records begin. */
  note(position: LogPosition, base: LogPosition): void {
    const last = this.#entries.at(-1) ?? base;
    if (position.offset - last.offset < this.#spacingBytes) return;
    if (this.#entries.length === INDEX_ENTRIES_MAX) {
      this.#entries = this.#entries.filter((_, i) => i % 2 === 1);
      this.#spacingBytes *= 2;
    }
    this.#entries.push(position);
  }

  /** Drops entries beyond the end of the log. */
  cut(end: number): void {
    this.#entries = this.#entries.filter((entry) => entry.offset <= end);
  }

  /** Writes it into the header of the segment's file, without a flush. */
  write(file: SyncFile, checksum: Checksum): void {
    const header = new Uint8Array(SEGMENT_HEADER_BYTES);
    const view = new DataView(header.buffer);
    view.setUint32(INDEX.count, this.#entries.length, true);
    this.#entries.forEach((entry, i) => {
      const at = INDEX.entries + i * ENTRY_BYTES;
      view.setFloat64(at + ENTRY.offset, entry.offset, true);
      view.setFloat64(at + ENTRY.sequence, entry.sequence, true);
      view.setFloat64(at + ENTRY.timeMs, entry.timeMs, true);
      view.setFloat64(at + ENTRY.sum, entry.sum, true);
    });
    view.setFloat64(INDEX.sum, indexSum(header, checksum), true);
    file.write(header.subarray(INDEX.sum), INDEX.sum);
  }
}

function indexSum(header: Uint8Array, checksum: Checksum): number {
  return checksum.ofRecord(wordsOf(header), INDEX.count >> 2, SEGMENT_HEADER_BYTES >> 2);
}
