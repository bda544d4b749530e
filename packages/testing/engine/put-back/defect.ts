// A known defect, as exact edits that put it back into the code.

import type { Layer } from '../rounds.ts';

export interface Edit {
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
}

export interface PutBack {
  readonly name: string;
  readonly layer: Layer;
  /** The seed to try first: it failed with the defect when a plan was last changed. */
  readonly seed: number;
  readonly edits: readonly Edit[];
}
