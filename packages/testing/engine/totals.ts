// The counts of one simulation of an object.

export interface Totals {
  commits: number;
  /** The number of disks that were opened after a power failure. */
  crashes: number;
  restores: number;
  faults: number;
  fullDisks: number;
  /** For bookmarks of a thinned history: the number of compared states, and of refusals. */
  compared: number;
  thinned: number;
  damages: number;
  /** The number of commits that were read, each at its own moment. */
  looks: number;
}

export const NO_TOTALS: Totals = {
  commits: 0,
  crashes: 0,
  restores: 0,
  faults: 0,
  fullDisks: 0,
  compared: 0,
  thinned: 0,
  damages: 0,
  looks: 0,
};
