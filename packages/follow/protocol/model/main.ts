// Runs the model and prints two tables: its walks, and for each defect the walk that finds it. With `--largest`, it runs
// only the walks that take hours, and prints their progress.
//
// Invariant: the exit code is 1 if a promise is broken, or a defect is not found.

import {
  ALL_DEFECTS,
  HOSTILE_SERVER_WALKS,
  HOSTILE_WALKS,
  LARGE_WALKS,
  LARGER_HOSTILE_SERVER_WALKS,
  LARGER_HOSTILE_WALKS,
  LARGEST_WALKS,
  runHostileServerWalk,
  runWalk,
  SMALL_WALKS,
  THREE_CALLS_WITH_ALL_FAULTS,
} from './walks.ts';

const print = (...cells: readonly unknown[]) => console.log(cells.join(' | '));
const seconds = (sinceMs: number) => ((performance.now() - sinceMs) / 1000).toFixed(1);

const onDepth = (depth: number, states: number) =>
  console.error(`${states} states within ${depth} steps`);

const isLargest = process.argv.includes('--largest');
const hostile = [...HOSTILE_WALKS, ...LARGER_HOSTILE_WALKS];
const walks = isLargest
  ? THREE_CALLS_WITH_ALL_FAULTS
  : [...SMALL_WALKS, ...LARGE_WALKS, ...LARGEST_WALKS, ...hostile];
const runs = [
  ...walks.map((scenario) => () => runWalk(scenario, isLargest ? { onDepth } : {})),
  ...(isLargest ? [] : [...HOSTILE_SERVER_WALKS, ...LARGER_HOSTILE_SERVER_WALKS]).map(
    (scenario) => () => runHostileServerWalk(scenario),
  ),
];
print('walk', 'states', 'steps', 'depth', 's', 'result');
for (const run of runs) {
  const startMs = performance.now();
  const { name, states, steps, depth, failure } = run();
  print(name, states, steps, depth, seconds(startMs), failure ?? 'holds');
  if (failure !== null) process.exitCode = 1;
}
if (!isLargest) print('defect', 's', 'refuted by', 'broken promise');
for (const { name, refutation } of isLargest ? [] : ALL_DEFECTS) {
  const startMs = performance.now();
  const found = refutation();
  print(name, seconds(startMs), found?.name ?? 'NOT FOUND', found?.failure ?? '');
  if (found === null) process.exitCode = 1;
}
