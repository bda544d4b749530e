// For tests: the parts of a copy of an object, all read at once.

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
