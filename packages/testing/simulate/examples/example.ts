// An example: a class with a classic defect, the same class mended, and the simulation that tells them apart.

import type { ClassTable } from '../../../../worker/objects/instance/object-class.ts';
import { type SimulateOptions, type SimulationReport, simulate } from '../simulate.ts';

export interface Example {
  readonly name: string;
  /** The seed that finds the defect first. */
  readonly seed: string;
  /** The assertion that fails. */
  readonly message: RegExp;
  /** Simulates the class with the defect. */
  broken(run: RunChoice): Promise<SimulationReport>;
  mended(run: RunChoice): Promise<SimulationReport>;
}

export type RunChoice = { readonly seed: string } | { readonly runs: number };

/** Short runs: each defect needs few steps. */
const STEPS = 10;

/** Both tables have the same interface, so one simulation fits both. */
export function example<Table extends ClassTable>(
  facts: Pick<Example, 'name' | 'seed' | 'message'>,
  broken: Table,
  mended: Table,
  options: SimulateOptions<Table>,
  versions: {
    broken: NonNullable<SimulateOptions<Table>['versions']>;
    mended: NonNullable<SimulateOptions<Table>['versions']>;
  } = { broken: [], mended: [] },
): Example {
  return {
    ...facts,
    broken: (run) =>
      simulate(broken, { steps: STEPS, ...options, versions: versions.broken, ...run }),
    mended: (run) =>
      simulate(mended, { steps: STEPS, ...options, versions: versions.mended, ...run }),
  };
}
