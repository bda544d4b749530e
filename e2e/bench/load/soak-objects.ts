// npm run soak:objects -- [--minutes N] [--objects N] [--subscriptions N]
//
// Objects in Node, in a folder, with a clock that is driven: many objects, subscribers that stay and others that
// go, alarms, resets and deletions, and hosts that are killed and started again. Prints a table of memory, open
// files, locks and references. Fails when one of them grows: when it is larger at the end than after the first
// third, by more than its margin.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Sample, SoakStart } from './soak-objects-process.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    objects: { type: 'string', default: '10000' },
    subscriptions: { type: 'string', default: '1000' },
  },
});
const [minutes, objects, subscriptions] = [
  values.minutes,
  values.objects,
  values.subscriptions,
].map(Number) as [number, number, number];
if (!(minutes > 0 && objects > 0 && subscriptions > 0)) {
  throw new Error('soak: --minutes, --objects and --subscriptions take numbers above 0.');
}

/** How long a process lives before it is killed: long enough to see growth in each of them. */
const LIVES = 3;
const SAMPLES = 9;

/** The permitted growth of each figure, in its unit, in addition to a tenth. */
const MARGINS: Record<Exclude<keyof Sample, 'rounds' | 'lost'>, number> = {
  heapMb: 10,
  externalMb: 20,
  files: 30,
  instances: 50,
  held: 20,
};

const directory = mkdtempSync(join(tmpdir(), 'ctx-storage-soak-'));
const failures: string[] = [];
try {
  for (let life = 1; life <= LIVES; life++) await live(life);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
console.log(failures.length === 0 ? 'flat' : `FAILED: ${failures.join('; ')}`);
process.exitCode = failures.length === 0 ? 0 : 1;

/** Runs one process until it is killed; the next process finds its lock and its files. */
async function live(life: number): Promise<void> {
  const child = fork(join(import.meta.dirname, 'soak-objects-process.ts'), {
    execArgv: [...process.execArgv, '--expose-gc'],
  });
  const lifeMs = (minutes * 60_000) / LIVES;
  child.send({ directory, objects, subscriptions, stepMs: lifeMs / SAMPLES } satisfies SoakStart);
  const seen: Sample[] = [];
  while (seen.length < SAMPLES) {
    const sample = await nextOf(child);
    seen.push(sample);
    console.log(`life ${life}.${seen.length}: ${lineOf(sample)}, locks ${locks()}`);
    if (sample.lost > 0) failures.push(`${sample.lost} events were not heard`);
    if (locks() !== 1) failures.push(`${locks()} locks in the folder`);
  }
  child.kill('SIGKILL');
  await once(child, 'exit');
  const [settled, last] = [seen[Math.floor(SAMPLES / 3)]!, seen.at(-1)!];
  for (const name of Object.keys(MARGINS) as (keyof typeof MARGINS)[]) {
    if (last[name] <= settled[name] * 1.1 + MARGINS[name]) continue;
    failures.push(`${name} grew from ${settled[name]} to ${last[name]} in life ${life}`);
  }
}

async function nextOf(child: ChildProcess): Promise<Sample> {
  const [message] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`soak: the process ended with ${code}.`);
    }),
  ])) as [Sample];
  return message;
}

function locks(): number {
  return readdirSync(directory).filter((name) => name.startsWith('host.lock')).length;
}

function lineOf(sample: Sample): string {
  return Object.entries(sample)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}
