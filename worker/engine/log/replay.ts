// The replay of a log when an object is opened: every whole commit after the last checkpoint, in
// order, segment by segment.
//
// Invariant: `redo` holds the state at `position`, the end of the last whole commit, in `active`. The
// parts of a transaction are applied only with the record that ends it.
//
// recovery.ts decides whether the log ends because of a crash or because of damage.

import { assert } from '../../../src/shared/contract/invariant.ts';
import type { SyncFile } from '../file/file.ts';
import { type Checkpoint, type PendingRestore, pendingRestore } from './checkpoint-file.ts';
import type { Checksum } from './checksum.ts';
import type { LogPosition } from './log-position.ts';
import { annotationIn, MARKER, markerBody, parseHeader, RESTORE } from './record.ts';
import { Redo } from './redo.ts';
import { type FoundRecord, positionAfter, type Segment } from './segment.ts';

/** A part of a transaction whose last record may be missing. */
interface Part {
  readonly offset: number;
  readonly length: number;
}

export class Replay {
  readonly redo: Redo;
  #active: Segment;
  #position: LogPosition;
  #pendingRestore: PendingRestore | null;

  /** Replays the segment with the checkpoint's position, starting there. */
  constructor(main: SyncFile, segment: Segment, checkpoint: Checkpoint, checksum: Checksum) {
    this.redo = new Redo(main, segment.file, checkpoint.pageCount, checksum);
    this.#active = segment;
    this.#position = checkpoint.position;
    this.#pendingRestore = checkpoint.pendingRestore;
    this.#replayActive();
  }

  /** The segment in which the log ends. */
  get active(): Segment {
    return this.#active;
  }

  /** The position after the last whole commit. */
  get position(): LogPosition {
    return this.#position;
  }

  /** The restore that is pending at `position`; null if there is none. */
  get pendingRestore(): PendingRestore | null {
    return this.#pendingRestore;
  }

  /** Continues with the next segment. Returns false if it does not follow the replayed records. */
  follow(next: Segment): boolean {
    const follows = next.number === this.#active.number + 1 && next.base.sum === this.#position.sum;
    if (!follows) return false;
    this.#active = next;
    this.#position = next.base;
    this.redo.beginSegment(next.file);
    assert(this.redo.overlay.size === 0, 'pages of a segment that has ended stay in memory');
    this.#replayActive();
    return true;
  }

  #replayActive(): void {
    const segment = this.#active;
    let parts: Part[] = [];
    for (const found of segment.records(this.#position)) {
      const end = positionAfter(found);
      if (end === null) {
        parts.push({ offset: found.offset, length: found.record.length });
        continue;
      }
      if ((found.record.flags & MARKER) !== 0) this.#applyMarker(found);
      else this.#applyCommit(parts, found);
      parts = [];
      this.#position = end;
      segment.note(end);
    }
    segment.cutIndex(this.#position.offset);
  }

  #applyMarker({ bytes, record }: FoundRecord): void {
    const { sequence, sum } = markerBody(bytes, record);
    const pending = pendingRestore(sequence, sum);
    const annotation = annotationIn(bytes, record)?.slice();
    this.#pendingRestore = pending && { ...pending, ...(annotation && { annotation }) };
  }

  #applyCommit(parts: readonly Part[], { record, bytes, offset }: FoundRecord): void {
    for (const part of parts) {
      const partBytes = this.#active.read(part.offset, part.length);
      this.redo.apply(partBytes, parseHeader(partBytes)!, part.offset);
    }
    this.redo.apply(bytes, record, offset);
    this.redo.settle(record.pageCount);
    if ((record.flags & RESTORE) !== 0) this.#pendingRestore = null;
  }
}
