// The sizes that the documents tell, beside those of the packed package.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readResults } from '../package/figures/documents.ts';
import { isTrueToday } from '../package/figures/figures.ts';
import { measuredSizes } from '../package/figures/sizes.ts';
import { installPacked } from '../package/installed.ts';

test('[DOC10] the sizes in the documents are those of today: otherwise run `npm run figures`', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ctx-storage-sizes-'));
  try {
    await installPacked(folder);
    const today = await measuredSizes(folder);
    const { bytes } = readResults().sizes;
    expect(Object.keys(bytes)).toEqual(Object.keys(today));
    const wrong = Object.entries(today).flatMap(([name, size]) =>
      isTrueToday(bytes[name]!, size) ? [] : [`${name}: told ${bytes[name]}, today ${size}`],
    );
    expect(wrong).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
