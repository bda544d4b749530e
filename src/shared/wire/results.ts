// The plain data that operations result in, besides values and numbers: commits, branches, opened states, rows.
//
// This file does not know which operation has which result (operations.ts).

import type { StateName } from '../contract/state-name.ts';
import type { CommitAuthor, SqlStorageValue } from '../contract/storage.ts';

/** A commit, as the log stores it. */
export interface CommitFacts {
  readonly bookmark: string;
  readonly timeMs: number;
  readonly bytes: number;
  readonly pageCount: number;
  readonly isRestore: boolean;
  readonly isPromote: boolean;
  readonly by?: CommitAuthor;
}

/** A branch of an object. */
export interface BranchFacts {
  readonly id: string;
  readonly name: string | null;
  /** The moment of the origin at which the branch began. */
  readonly bookmark: string;
  readonly createdMs: number;
  readonly isKept: boolean;
}

/** An earlier moment that a session has opened. */
export interface OpenedMoment {
  /** The number that calls pass as `moment`. */
  readonly moment: number;
  readonly bookmark: string;
}

/** Two states that a session compares. */
export interface OpenedDiff {
  /** The number that calls pass as `diff`. */
  readonly diff: number;
  /** The bookmarks of both states; null for the beginning of the branch. */
  readonly from: StateName;
  readonly to: StateName;
}

/**
 * Rows of a cursor, as arrays in the order of `columnNames`. A statement without columns, such as most statements that
 * write, has neither list: many such results travel in one message, where lists are costly.
 */
export interface RowBatch {
  /** The open cursor; absent or null if this batch contains the cursor's last row. */
  readonly cursor?: number | null;
  readonly columnNames?: string[];
  readonly rows?: SqlStorageValue[][];
  readonly rowsRead: number;
  readonly rowsWritten: number;
}
