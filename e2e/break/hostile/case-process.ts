// Runs the cases of one surface, which main.ts names, in a process of their own: a case that hangs, traps or throws
// without a catch harms no other.

import { attackSeed } from './attack.ts';
import { openSurface } from './open-surface.ts';
import type { SurfaceName } from './surface.ts';

/** A request to the process, and its answer. */
export interface CaseRequest {
  readonly seed: number;
}
export interface CaseResult {
  readonly seed: number;
  readonly fault?: string;
  readonly figures?: string;
}

let running: number | undefined;
const stray = (error: unknown) => {
  answer(running ?? -1, `an error that nobody caught: ${inWords(error)}`);
};
process.on('uncaughtException', stray);
process.on('unhandledRejection', stray);

const surface = await openSurface(process.argv[2] as SurfaceName);
process.on('message', async ({ seed }: CaseRequest) => {
  running = seed;
  const fault = await attackSeed(surface, seed);
  // An error that was thrown into the event loop appears in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  if (running === seed) answer(seed, fault);
});
process.on('disconnect', () => process.exit());
process.send!({ seed: -1 } satisfies CaseResult);

function answer(seed: number, fault: string | undefined): void {
  running = undefined;
  const figures = surface.figures?.();
  process.send!({
    seed,
    ...(fault !== undefined && { fault }),
    ...(figures !== undefined && { figures }),
  } satisfies CaseResult);
}

function inWords(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
