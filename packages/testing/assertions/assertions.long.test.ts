// Defects that are put back into a bundle of the sources. The assertion of the invariant that they break is the first thing
// that is seen, and no call waits for ever. Each runs as a separate process.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { Edit } from '../engine/put-back/defect.ts';
import { ROOT, withEdit, writeDefective } from '../engine/put-back/defective-simulator.ts';
import { type AssertedDefect, FIRST_OF_ROOMS, OTHER_DEFECTS } from './defects.ts';
import { SCENARIOS, type ScenarioName } from './scenarios.ts';

const ENTRY = fileURLToPath(new URL('./first-error.ts', import.meta.url));

/** What is seen first of the scenarios, each with these edits of the sources. */
async function seenIn(edits: readonly Edit[], ...scenarios: ScenarioName[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'ctx-storage-assertions-'));
  try {
    const target = join(folder, 'first-error.mjs');
    await writeDefective(ENTRY, edits, target);
    const seen = [];
    for (const scenario of scenarios) {
      const { stdout } = await promisify(execFile)(process.execPath, [target, scenario]);
      seen.push(stdout);
    }
    return seen;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const expectAsserted = async ({ edit, scenario, message }: AssertedDefect) =>
  expect(await seenIn([edit], scenario)).toEqual([
    `Invariant: ${message}. This is a defect of ctx-storage; please report it.`,
  ]);

test.each(FIRST_OF_ROOMS)('[LOG28] an assertion speaks first if $name', expectAsserted);

test.each(OTHER_DEFECTS)(
  '[LOG28] an assertion speaks first if $name',
  { tags: 'release' },
  expectAsserted,
);

test('[LOG28] without a defect, no scenario sees an error', async () => {
  const names = Object.keys(SCENARIOS) as ScenarioName[];
  expect(await seenIn([], ...names)).toEqual(names.map(() => ''));
});

test('[LOG28] the edits of each asserted defect change the sources as they are', () => {
  for (const { edit, name } of [...FIRST_OF_ROOMS, ...OTHER_DEFECTS]) {
    const before = readFileSync(join(ROOT, edit.file), 'utf8');
    expect(withEdit(before, edit), name).not.toBe(before);
  }
});
