// `npm run fuzz -- --seed N --count M`: random programs in workerd and here, compared step by step.

import { parseArgs } from 'node:util';
import { compareSeed, describe } from './compare.ts';
import { startHere, startWorkerd } from './implementations.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '200' },
  },
});
const first = Number(values.seed);
const count = Number(values.count);
if (!Number.isSafeInteger(first) || !(Number.isSafeInteger(count) && count > 0)) {
  throw new Error('fuzz: --seed takes a whole number, --count a positive one.');
}

const [here, there] = await Promise.all([startHere(), startWorkerd()]);
let failed = 0;
for (let seed = first; seed < first + count; seed++) {
  const found = await compareSeed(seed, here, there);
  if (found === undefined) continue;
  failed += 1;
  console.log(`${describe(found)}\n`);
}
await Promise.all([here.close(), there.close()]);
console.log(`${count - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;
