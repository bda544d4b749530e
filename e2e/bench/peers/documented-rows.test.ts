// The figures of docs/benchmarks.md, as the demo's benchmark shows them.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { documentedRows, machineOf } from '../../../demo/bench/documented-rows.ts';
import { ROWS } from '../../../demo/bench/rows.ts';

const text = readFileSync(new URL('../../../docs/benchmarks.md', import.meta.url), 'utf8');

test("[DEMO10] every row of the page is among the documents' figures, with its ratios", () => {
  const found = documentedRows(text);
  for (const { name, places } of ROWS) {
    for (const place of places) {
      const row = found.find((one) => one.row === name && one.place === place);
      expect(row, `${name}, ${place}`).toBeDefined();
      expect(row!.ours).toMatch(/^[\d.]+ (µs|ms|s)$/);
      expect(row!.toBestPeer).toMatch(/^[\d.]+$/);
      expect(row!.toLimit).toMatch(/^([\d.]+|–)$/);
    }
  }
  expect(machineOf(text)).toMatch(/^Measured on two cores .*\. Median of three runs\.$/);
  expect(() => documentedRows('# Benchmarks')).toThrow('no table');
  expect(() => machineOf('# Benchmarks')).toThrow('machine');
});
