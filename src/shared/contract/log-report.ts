// What `ctx-storage log` reports about the log of an object: the engine makes it, the command line prints it.

import type { CommitAuthor } from './storage.ts';

/** One record of a segment. */
export interface ReportedRecord {
  readonly offset: number;
  readonly kind: 'commit' | 'part' | 'restore' | 'marker';
  readonly sequence: number;
  readonly timeMs: number;
  readonly sizeBytes: number;
  /** How many pages it changes. */
  readonly pages: number;
  /** Who made it, or requested the restore of a marker. */
  readonly by?: CommitAuthor;
}

export interface ReportedSegment {
  readonly name: string;
  readonly sizeBytes: number;
  /** Empty: it was pruned on a full disk. */
  readonly isEmpty: boolean;
  readonly records: readonly ReportedRecord[];
  /** Where its last intact record ends. */
  readonly end: number;
}

/** What the next opening does. */
export interface ReportedOpening {
  /** Commits that are redone, because the main file does not contain them yet. */
  readonly redone: number;
  readonly sequence: number;
  readonly timeMs: number;
  readonly bookmark: string;
  readonly pageCount: number;
  /** A restore that is pending: its last kept commit, and the reason it is refused; null if it is made. */
  readonly restore: { readonly sequence: number; readonly refused: string | null } | null;
}

export interface LogReport {
  /** The main file contains everything before this position; null: the checkpoint file has no intact slot. */
  readonly checkpoint: {
    readonly segment: string;
    readonly offset: number;
    readonly sequence: number;
    readonly pageCount: number;
  } | null;
  readonly segments: readonly ReportedSegment[];
  /** The time of the oldest state that can be restored; null if there is none. */
  readonly oldestMs: number | null;
  /** Null if the files are too damaged to be opened. */
  readonly opening: ReportedOpening | null;
  /** One line for each damage. Empty: the files are sound. */
  readonly damage: readonly string[];
}
