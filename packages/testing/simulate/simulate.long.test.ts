// Long simulations: `npm run test:rest` makes some of their runs, and `npm run simulate` all of them.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { DurableObject } from '../../../worker/realm/library/library.ts';
import { EXAMPLES } from './examples/examples.ts';
import { simulate } from './simulate.ts';

/** The number of runs of each class; 2,000 take some minutes. */
const RUNS = Number(process.env.SIMULATED_RUNS ?? 60);

test.each(EXAMPLES)('[SIMU16] $name: the mended class passes each run', async ({ mended }) => {
  const { coverage } = await mended({ runs: RUNS });
  expect(coverage.runs).toBe(RUNS);
});

class Counter extends DurableObject {
  async add(): Promise<number> {
    const count = ((await this.ctx.storage.get<number>('count')) ?? 0) + 1;
    await this.ctx.storage.put('count', count);
    return count;
  }
}

/** The number of runs of the memory test; `npm run simulate` makes 10,000. */
const MEMORY_RUNS = process.env.SIMULATED_RUNS === undefined ? 2500 : 10_000;

test('[SIMU18] memory is flat over thousands of runs', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const usedBytes: number[] = [];
  let runs = 0;
  await simulate(
    { Counter },
    {
      runs: MEMORY_RUNS,
      steps: 4,
      setup: () => {
        runs += 1;
        if (runs % (MEMORY_RUNS / 5) !== 0) return;
        collect();
        const { heapUsed, arrayBuffers } = process.memoryUsage();
        usedBytes.push(heapUsed + arrayBuffers);
      },
      calls: ({ env, pick }) => [() => env.Counter.getByName(pick(['a', 'b'])).add()],
    },
  );
  // If each run kept its world, 100 kB, 2,000 runs would use 200 MB. Buffers that wait for the garbage collector
  // account for about 20 MB.
  expect(usedBytes).toHaveLength(5);
  expect(usedBytes.at(-1)! - usedBytes[0]!).toBeLessThan(64 * 2 ** 20);
});
