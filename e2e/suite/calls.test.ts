// The bounds on how many source files a warm call runs through: whoever reads or changes a call opens all of them.
//
// A bound may fall and does not grow. `npm run calls -- --list put` names the files.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from './source-files.ts';

const FILES_MAX = { put: 50, get: 31, exec: 55, 'class call': 65, alarm: 89 };

test('a warm call runs through no more source files than before', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', 'e2e/bench/calls/main.ts', '--json'],
    { cwd: ROOT },
  );
  const counts: Record<string, { readonly files: number }> = JSON.parse(stdout);
  expect(Object.keys(counts)).toEqual(Object.keys(FILES_MAX));
  for (const [call, max] of Object.entries(FILES_MAX)) {
    expect(counts[call]!.files, `npm run calls -- --list '${call}'`).toBeLessThanOrEqual(max);
    // A count of almost nothing means that the coverage was not seen.
    expect(counts[call]!.files).toBeGreaterThan(10);
  }
});
