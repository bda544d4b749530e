// npm run torture -- [--rounds N] [--seed N]
//
// The kill loop, long: renderer and browser are killed in turn, each after a number of writes that
// the seed decides. A round fails when an acknowledged write is missing or anything is torn.

import { parseArgs } from 'node:util';
import { getChromium } from './browser.ts';
import { KillLoop, type Round } from './kill-loop.ts';
import { Profile } from './profile.ts';
import { startServer } from './server.ts';

const WRITES_MAX = 200;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
const rounds = Number(values.rounds);
let seed = Number(values.seed);
if (!(rounds >= 1) || !Number.isInteger(rounds + seed)) {
  throw new Error(
    'torture: --rounds and --seed take whole numbers, and there is at least 1 round.',
  );
}

const browser = getChromium();
console.log(`${browser.version}, ${rounds} kills, seed ${seed}`);
const server = await startServer();
const profile = new Profile(browser);
let failed = 0;
try {
  const loop = new KillLoop(profile, server);
  for (let number = 1; number <= rounds; number++) {
    const victim = number % 2 === 1 ? 'renderer' : 'browser';
    const writes = 1 + (nextRandom() % WRITES_MAX);
    tell(`${number - 1}`, await loop.round(victim, writes));
    console.log(`${number}: the ${victim} was killed after ${writes} writes`);
  }
  tell(`${rounds}`, await loop.finish());
} finally {
  await profile.remove();
  await server.close();
}
console.log(`${rounds + 1 - failed} passed, ${failed} failed`);
if (failed > 0) process.exitCode = 1;

function tell(kills: string, { acknowledged, found, faults }: Round): void {
  const state = faults.length === 0 ? 'whole' : `FAULTY: ${faults.join('; ')}`;
  console.log(`after ${kills} kills: ${acknowledged} acknowledged, ${found} found, ${state}`);
  if (faults.length > 0) failed += 1;
}

// A linear congruential generator (the constants of Numerical Recipes): repeatable, and enough here.
function nextRandom(): number {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed;
}
