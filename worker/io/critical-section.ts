// A critical section: a stretch of time in which only the section's own events run. Sections nest.

import { storageError } from '../../src/contract/errors.ts';
import { CRITICAL_SECTION_DEPTH_MAX } from '../../src/contract/limits.ts';

export class CriticalSection {
  /** The section around it; null when it is the outermost. */
  readonly parent: CriticalSection | null;
  readonly depth: number;
  hasEnded = false;

  constructor(parent: CriticalSection | null) {
    this.parent = parent;
    this.depth = depthWithin(parent);
  }
}

/** The section itself while it is open, else the first open one around it; null outside of all. */
export function innermostOpen(section: CriticalSection | null): CriticalSection | null {
  let current = section;
  while (current?.hasEnded) current = current.parent;
  return current;
}

/** Checks that a section may open inside `parent`. @throws TRANSACTION_NESTING */
export function checkDepth(parent: CriticalSection | null): void {
  const depth = depthWithin(parent);
  if (depth <= CRITICAL_SECTION_DEPTH_MAX) return;
  throw storageError(
    'TRANSACTION_NESTING',
    `Critical sections are nested ${depth} deep, at most ${CRITICAL_SECTION_DEPTH_MAX}.`,
  );
}

function depthWithin(parent: CriticalSection | null): number {
  return parent === null ? 1 : parent.depth + 1;
}
