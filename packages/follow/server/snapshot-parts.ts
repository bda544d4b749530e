// Reads the parts of snapshots, and caches the last ones. Reading a part takes longer than all else that a follower can ask
// for in one message, so followers that come together, or ask again and again, get the same one.
//
// Invariants:
//   a cached part was read at or after the position at which its snapshot began: the cut after the last part brings all that
//   was written since then
//   the tables have not changed since it was read
// This file does not know who asks.

import type { ChangeSource, CopyPlace } from '../changes/changes.ts';
import { encodeChanges } from '../changes/changes-bytes.ts';
import type { Position } from '../protocol/messages.ts';

/** A cached part serves until this many notes were written after it (our choice: the cut after it grows by them). */
const NOTES_AFTER_MAX = 2000;
/** A place with a longer text is not worth a place in the cache (our choice: a follower may send any). */
const KEY_UNITS_MAX = 1000;
/** The most bytes of cached parts (our choice). */
const CACHED_BYTES_MAX = 4 * 2 ** 20;

export interface SnapshotPart {
  /** The encoded changes. */
  readonly changes: Uint8Array;
  /** The place where the next part begins; null if this is the last one. */
  readonly next: CopyPlace | null;
  /** The position at which it was read. */
  readonly at: Position;
}

export class SnapshotParts {
  readonly #source: ChangeSource;
  /** By the place where each begins, the oldest first. */
  readonly #cached = new Map<string, SnapshotPart>();
  #cachedBytes = 0;

  constructor(source: ChangeSource) {
    this.#source = source;
  }

  /** Returns the part at a place, of a snapshot that began at `from`. The first part begins a snapshot: it has no `from`. */
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

/** Returns a text for each place. A follower may have forged a place, which must not be taken for that of others. */
function keyOf(place: CopyPlace | null): string {
  if (place === null) return '';
  const cells = place.after?.map((cell) =>
    cell instanceof Uint8Array ? ['bytes', ...cell] : [typeof cell, String(cell)],
  );
  return JSON.stringify([place.table, cells ?? null, place.sentBytes]);
}
