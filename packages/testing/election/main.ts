// Prints the table of the model's walks, and of the defects with the walk that refutes each; with `--largest`, the
// walks that take longer than all of these.
//
// Invariant: ends with code 1 if a promise is broken, or a defect is not found.

import { DEFECTS } from './defects.ts';
import { exploreScenario, LARGE_WALKS, LARGEST_WALKS, refutingWalk, SMALL_WALKS } from './walks.ts';

const print = (...cells: readonly unknown[]) => console.log(cells.join(' | '));
const seconds = (sinceMs: number) => ((performance.now() - sinceMs) / 1000).toFixed(1);

const isLargest = process.argv.includes('--largest');
print('walk', 'states', 'steps', 'depth', 's', 'result');
for (const scenario of isLargest ? LARGEST_WALKS : [...SMALL_WALKS, ...LARGE_WALKS]) {
  const startMs = performance.now();
  const { name, states, steps, depth, failure } = exploreScenario(scenario);
  print(name, states, steps, depth, seconds(startMs), failure ?? 'holds');
  if (failure !== null) process.exitCode = 1;
}
if (!isLargest) print('defect', 's', 'refuted by', 'broken promise');
for (const defect of isLargest ? [] : Object.keys(DEFECTS)) {
  const startMs = performance.now();
  const found = refutingWalk(defect);
  print(defect, seconds(startMs), found?.name ?? 'NOT FOUND', found?.failure ?? '');
  if (found === null) process.exitCode = 1;
}
