// Reads the parts of snapshots, and caches the last ones. Reading a part takes longer than anything else that a
// follower can ask for in one message, so followers that connect together, or ask again and again, get the same part.
//
// Invariants:
//   a cached part was read at or after the position at which its snapshot began: the cut after the last part brings all that
//   was written since then
//   the tables have not changed since a cached part was read
// This file does not know who asks.

import type { ChangeSource, CopyPlace } from '../changes/changes.ts';
import { encodeChanges } from '../changes/changes-bytes.ts';
import type { Position } from '../protocol/messages.ts';

/**
 * A cached part is used until this many notes were written after it (our choice: these notes make the update after the
 * part larger).
 */
const NOTES_AFTER_MAX = 2000;
/** A part is not cached if the text of its place is longer than this (our choice: a follower may send any text). */
const KEY_UNITS_MAX = 1000;
/** The most bytes of cached parts (our choice). */
const CACHED_BYTES_MAX = 4 * 2 ** 20;

export interface SnapshotPart {
  /** The encoded changes of this part. */
  readonly changes: Uint8Array;
  /** The place where the next part begins; null if this is the last one. */
  readonly next: CopyPlace | null;
  /** The object's position when this part was read. */
  readonly at: Position;
}

export class SnapshotParts {
  readonly #source: ChangeSource;
  /** The cached parts, by the place where each begins, the oldest first. */
  readonly #cached = new Map<string, SnapshotPart>();
  #cachedBytes = 0;

  constructor(source: ChangeSource) {
    this.#source = source;
  }

  /**
   * Returns the part at a place, of a snapshot that began at `from`. The first part begins a snapshot, so `from` is
   * null for it.
   */
  read(place: CopyPlace | null, from: Position | null, head: Position): SnapshotPart {
    const key = keyOf(place);
    const cached = this.#cached.get(key);
    if (cached !== undefined) {
      if (this.#isUsable(cached, from, head)) return cached;
      this.#forget(key, cached);
    }
    const { changes, next } = this.#source.copyPart(place);
    const part = { changes: encodeChanges(changes), next, at: head };
    if (key.length > KEY_UNITS_MAX) return part;
    this.#cached.set(key, part);
    this.#cachedBytes += part.changes.length;
    for (const [oldest, { changes: bytes }] of this.#cached) {
      if (this.#cachedBytes <= CACHED_BYTES_MAX) break;
      this.#cached.delete(oldest);
      this.#cachedBytes -= bytes.length;
    }
    return part;
  }

  #isUsable({ at }: SnapshotPart, from: Position | null, head: Position): boolean {
    if (from !== null && at.id < from.id) return false;
    if (at.id > head.id || head.id - at.id > NOTES_AFTER_MAX) return false;
    return this.#source.lifeAt(at.id) === at.life && this.#source.canContinueCopy(at, null);
  }

  #forget(key: string, { changes }: SnapshotPart): void {
    this.#cached.delete(key);
    this.#cachedBytes -= changes.length;
  }
}

/**
 * Returns a text that identifies a place. A follower may have forged a place, whose text must differ from the texts of
 * real places.
 */
function keyOf(place: CopyPlace | null): string {
  if (place === null) return '';
  const cells = place.after?.map((cell) =>
    cell instanceof Uint8Array ? ['bytes', ...cell] : [typeof cell, String(cell)],
  );
  return JSON.stringify([place.table, cells ?? null, place.sentBytes]);
}
