// Positions in the commit log, and the order of its commits.
//
// The upper half of a sequence counts the timelines. A restore begins one, and so does the first commit after the
// wall clock was set back. Within a timeline, sequence order is time order.

/** A position between two commits of a segment, and the last commit before it. */
export interface LogPosition {
  readonly offset: number;
  readonly sequence: number;
  readonly timeMs: number;
  /** Checksum of the record before the position. */
  readonly sum: number;
}

/** True if both positions are the same offset of one segment, after the same record. */
export function equalPositions(one: LogPosition, other: LogPosition): boolean {
  return one.offset === other.offset && one.sequence === other.sequence && one.sum === other.sum;
}

export const TIMELINE = 0x1_0000_0000;

/** Returns the first sequence of the timeline that a commit belongs to. */
export function timelineStart(sequence: number): number {
  return Math.floor(sequence / TIMELINE) * TIMELINE;
}

/** Returns the first sequence of the next timeline. */
export function nextTimeline(sequence: number): number {
  return timelineStart(sequence) + TIMELINE;
}

/** Returns the sequence that stands for the end of the timeline; no commit has it. */
export function timelineEnd(sequence: number): number {
  return nextTimeline(sequence) - 1;
}
