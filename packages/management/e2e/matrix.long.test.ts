// Tests that the table in matrix.md shows what the versions of the SDK really do.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientMatrix, matrixTable } from './client-matrix.ts';
import { DOCUMENT, withTable } from './write-matrix.ts';

test('[MG39] the page shows the results of each version of the SDK on every date', {
  tags: 'release',
}, async () => {
  const table = matrixTable(await clientMatrix());
  const text = readFileSync(DOCUMENT, 'utf8');
  expect(text, 'write it again: npm run management:matrix').toBe(withTable(text, table));
});
