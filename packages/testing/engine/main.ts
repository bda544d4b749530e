// Runs the simulator as a command: npm run sim -- --seed N --rounds M --jobs 2 --layer objects
//
// Round i runs seed N + i of each layer. A failure is printed with its seed and the shortest list of steps that still
// fails. `--put-back` checks that the simulator finds known defects which are put back into the code.

import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { TYPED_SEEDS } from './plan.ts';
import { findsPutBack, PUT_BACKS } from './put-back/put-back.ts';
import { type Counts, type Failure, LAYERS, type Layer, type Outcome, Rounds } from './rounds.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(TYPED_SEEDS + (Date.now() % 1_000_000)) },
    rounds: { type: 'string', default: '50' },
    jobs: { type: 'string', default: '1' },
    layer: { type: 'string' },
    'put-back': { type: 'boolean', default: false },
    /** The command gives each of its child processes the seeds to run. */
    share: { type: 'string' },
  },
});
const layers = LAYERS.filter((layer) => (values.layer ?? layer) === layer);
if (layers.length === 0) {
  throw new Error(`--layer ${values.layer} does not exist; there are ${LAYERS.join(', ')}.`);
}
if (values['put-back']) await showPutBacks();
else if (values.share !== undefined) await runShare(values.share);
else await runAll(Number(values.seed), Number(values.rounds), Number(values.jobs));

/** Runs a share of the rounds in this process, and reports to the parent process. */
async function runShare(seeds: string): Promise<void> {
  console.error = () => {};
  console.warn = () => {};
  const rounds = await Rounds.of(layers[0]!);
  rounds.watchRejections();
  const outcome = await rounds.run(seeds.split(',').map(Number));
  process.send!(outcome, () => process.exit());
}

async function runAll(first: number, count: number, jobs: number): Promise<void> {
  const startMs = Date.now();
  const seeds = Array.from({ length: count }, (_, i) => first + i);
  const failures: Failure[] = [];
  for (const layer of layers) {
    const shares = Array.from({ length: jobs }, (_, job) =>
      seeds.filter((_, i) => i % jobs === job),
    );
    const outcomes = await Promise.all(shares.map((share) => forkShare(layer, share)));
    console.log(`${layer}, seeds ${first} to ${first + count - 1}: ${countsOf(outcomes)}`);
    for (const outcome of outcomes) failures.push(...outcome.failures);
  }
  for (const { layer, seed, fact, shortFact, steps } of failures) {
    console.log(`\n--layer ${layer} --seed ${seed} --rounds 1: ${fact}`);
    console.log(`  also fails with only these steps (${shortFact}):\n    ${steps.join('\n    ')}`);
  }
  console.log(`${((Date.now() - startMs) / 1000).toFixed(1)} s`);
  console.log(`${layers.length * count - failures.length} passed, ${failures.length} failed`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}

function forkShare(layer: Layer, seeds: readonly number[]): Promise<Outcome> {
  if (seeds.length === 0) return Promise.resolve({ counts: {}, failures: [] });
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), ['--layer', layer, '--share', seeds.join()]);
    child.on('message', (outcome) => resolve(outcome as Outcome));
    child.on('exit', (code) => reject(new Error(`a share of ${layer} ended with ${code}`)));
  });
}

function countsOf(outcomes: readonly Outcome[]): string {
  const total: Record<string, number> = {};
  const add = ({ counts }: { readonly counts: Counts }) => {
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
  };
  outcomes.forEach(add);
  return Object.entries(total)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}

async function showPutBacks(): Promise<void> {
  for (const putBack of PUT_BACKS) {
    const fact = await findsPutBack(putBack);
    console.log(`${putBack.name}: ${fact ?? 'NOT FOUND'} (${putBack.layer})`);
    if (fact === null) process.exitCode = 1;
  }
}
