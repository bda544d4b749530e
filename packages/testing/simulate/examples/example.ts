// An example consists of a class with a classic defect, the corrected class, and the simulation that tells them apart.

import type { ClassTable } from '../../../../worker/objects/instance/object-class.ts';
import { type SimulateOptions, type SimulationReport, simulate } from '../simulate.ts';

export interface Example {
  readonly name: string;
  /** The first seed that finds the defect. */
  readonly seed: string;
  /** The message of the assertion that fails. */
  readonly message: RegExp;
  /** Simulates the class with the defect. */
  broken(run: RunChoice): Promise<SimulationReport>;
  mended(run: RunChoice): Promise<SimulationReport>;
}

export type RunChoice = { readonly seed: string } | { readonly runs: number };

/** The runs are short, because each defect needs only few steps. */
const STEPS = 10;

/** Makes an example; one simulation fits both classes, because they have the same interface. */
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
