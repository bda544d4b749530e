// For tests: reads all parts of a snapshot at once.

import type { ChangeSource, Changes, CopyPlace } from '../changes/changes.ts';

export function wholeCopy(source: ChangeSource): Changes[] {
  const parts: Changes[] = [];
  let place: CopyPlace | null = null;
  do {
    const { changes, next } = source.copyPart(place);
    parts.push(changes);
    place = next;
  } while (place !== null);
  return parts;
}
