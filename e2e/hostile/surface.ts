// What every hostile surface offers to the runner: cases by seed, each judged by itself.

export const SURFACES = ['values', 'databases', 'wal', 'statements', 'messages'] as const;

export type SurfaceName = (typeof SURFACES)[number];

/** A border that input from outside crosses, set up once for many cases. */
export interface Surface {
  /** Tries what this seed makes; resolves to what went wrong, in words, or undefined. */
  attack(seed: number): Promise<string | undefined>;
  close(): Promise<void>;
}
