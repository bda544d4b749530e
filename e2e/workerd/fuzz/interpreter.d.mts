import type { Step } from './step.ts';
export function runProgram(
  ctx: unknown,
  steps: readonly Step[],
  canonicalize: (value: unknown) => unknown,
): Promise<unknown[]>;
