// The interface of every hostile surface: cases, each made from random choices and judged by itself.

import type { Draws } from '../../../packages/testing/page/draws.ts';

export const SURFACES = [
  'values',
  'databases',
  'wal',
  'statements',
  'messages',
  'followers',
] as const;

export type SurfaceName = (typeof SURFACES)[number];

/** A border that input from outside crosses, set up once for many cases. */
export interface Surface {
  readonly casesPerSeed: number;
  /** Makes a case and tries it; resolves to its fault, or undefined. */
  attack(draws: Draws): Promise<string | undefined>;
  close(): Promise<void>;
  /** What was done so far, in words and figures. */
  figures?(): string;
}
