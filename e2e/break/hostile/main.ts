// `npm run hostile -- --seed N --count M [--only values,databases,wal,statements,messages,followers]`: input
// from outside that means harm, at every border. A case is a seed at a surface; the same seed makes
// the same input.

import { parseArgs } from 'node:util';
import { type Failure, runCases } from './runner.ts';
import { SURFACES, type SurfaceName } from './surface.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '20' },
    only: { type: 'string', default: SURFACES.join() },
  },
});
const first = Number(values.seed);
const count = Number(values.count);
if (!Number.isSafeInteger(first) || !(Number.isSafeInteger(count) && count > 0)) {
  throw new Error('hostile: --seed takes a whole number, --count a positive one.');
}
const chosen = values.only.split(',') as SurfaceName[];
const unknown = chosen.filter((name) => !SURFACES.includes(name));
if (unknown.length > 0) {
  throw new Error(`hostile: --only takes ${SURFACES.join(', ')}; not ${unknown.join(', ')}.`);
}

let failed = 0;
for (const surface of chosen) {
  const startMs = performance.now();
  const onFailure = ({ seed, fault }: Failure) => {
    console.log(`${surface}, seed ${seed}: ${fault}`);
    console.log(`  npm run hostile -- --only ${surface} --seed ${seed} --count 1\n`);
  };
  const failures = await runCases(surface, first, count, onFailure, console.log);
  failed += failures.length;
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  const last = first + count - 1;
  console.log(`${surface}: seeds ${first} to ${last}, ${failures.length} failed, ${seconds} s`);
}
console.log(`${chosen.length * count - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
