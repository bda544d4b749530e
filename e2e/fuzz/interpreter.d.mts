import type { Step } from './program.ts';
export function runProgram(
  ctx: unknown,
  steps: readonly Step[],
  canonicalize: (value: unknown) => unknown,
): Promise<unknown[]>;
