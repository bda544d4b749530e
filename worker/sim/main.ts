// The simulator's command: npm run sim -- --seed N --rounds M
//
// Round i runs seed N + i; the seed of every failure is printed, so that it can be run again alone.

import { parseArgs } from 'node:util';
import sqlite3InitModule from '@sqlite.org/sqlite-wasm';
import { LogVfs } from '../vfs/log-vfs.ts';
import { Simulation } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    rounds: { type: 'string', default: '50' },
  },
});
const firstSeed = Number(values.seed);
const rounds = Number(values.rounds);

const sqlite3 = await sqlite3InitModule();
// It reports every failed step; failing is what is tried here.
sqlite3.config.warn = () => {};
const vfs = new LogVfs(sqlite3);
const totals = { commits: 0, crashes: 0, restores: 0, fullDisks: 0 };
let failed = 0;
for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
  try {
    const result = await new Simulation(sqlite3, vfs, seed).run();
    for (const key of Object.keys(totals) as (keyof typeof totals)[]) totals[key] += result[key];
  } catch (error) {
    failed++;
    console.log(`seed ${seed}: ${error instanceof Error ? error.stack : String(error)}`);
  }
}
console.log(
  `seeds ${firstSeed} to ${firstSeed + rounds - 1}: ${totals.commits} commits, ` +
    `${totals.crashes} crashes, ${totals.restores} restores, ${totals.fullDisks} full disks`,
);
console.log(`${rounds - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
