// Defines the report of `ctx-storage log` about the log of an object, which the engine makes and the command line
// prints.

import type { CommitAuthor } from './storage.ts';

/** A record of a segment. */
export interface ReportedRecord {
  readonly offset: number;
  readonly kind: 'commit' | 'part' | 'restore' | 'marker';
  readonly sequence: number;
  readonly timeMs: number;
  readonly sizeBytes: number;
  /** The number of pages that the record changes. */
  readonly pages: number;
  /** The author of the commit, or of the requested restore if the record is a marker. */
  readonly by?: CommitAuthor;
}

export interface ReportedSegment {
  readonly name: string;
  readonly sizeBytes: number;
  /** True if the segment was emptied, because the disk was full. */
  readonly isEmpty: boolean;
  readonly records: readonly ReportedRecord[];
  /** The position at which the segment's last intact record ends. */
  readonly end: number;
}

/** The steps of the next opening of the object. */
export interface ReportedOpening {
  /** The number of commits that are redone, because the main file does not contain them yet. */
  readonly redone: number;
  readonly sequence: number;
  readonly timeMs: number;
  readonly bookmark: string;
  readonly pageCount: number;
  /** The pending restore: the last commit that it keeps, and why it is refused (null if it will be made). */
  readonly restore: { readonly sequence: number; readonly refused: string | null } | null;
}

export interface LogReport {
  /** The position before which the main file contains everything; null if the checkpoint file has no intact slot. */
  readonly checkpoint: {
    readonly segment: string;
    readonly offset: number;
    readonly sequence: number;
    readonly pageCount: number;
  } | null;
  readonly segments: readonly ReportedSegment[];
  /** The time of the oldest state that can be restored; null if there is none. */
  readonly oldestMs: number | null;
  /** The effects of the next opening; null if the files are too damaged to be opened. */
  readonly opening: ReportedOpening | null;
  /** One line for each damage; empty if the files are sound. */
  readonly damage: readonly string[];
}
