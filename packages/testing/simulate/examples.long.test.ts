// Tests ten classic defects: each is found by its seed, as a short script, and the corrected class passes.

import { describe, expect, test } from 'vitest';
import { EXAMPLES } from './examples/examples.ts';
import { SimulationFailed } from './simulate.ts';

const LINES_MAX = 6;

test('[SIMU16] there are ten examples', () => {
  expect(new Set(EXAMPLES.map(({ name }) => name)).size).toBe(10);
});

describe.each(EXAMPLES)('$name', ({ seed, message, broken, mended }) => {
  test('[SIMU16] its seed finds the defect, in at most six lines', async () => {
    const failure = await broken({ seed }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SimulationFailed);
    const { message: text, script, cause } = failure as SimulationFailed;
    expect(text).toMatch(message);
    expect((cause as Error).message).toMatch(message);
    expect(script.length).toBeLessThanOrEqual(LINES_MAX);
  });

  test('[SIMU16] the mended class passes', async () => {
    const { coverage } = await mended({ runs: 4 });
    expect(coverage.runs).toBe(4);
  });
});

test('[OBJ14] an orderly end whose last commit fails ends too: it waited for the flush of closed files', async () => {
  const mended = EXAMPLES.filter(({ name }) =>
    ['double charge on retry', 'clock moved back'].includes(name),
  );
  expect(mended).toHaveLength(2);
  for (const example of mended) await example.mended({ seed: '5v' });
});
