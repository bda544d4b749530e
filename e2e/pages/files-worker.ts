// Runs the cases of the file contract over the browser's own files, each in a directory of its own,
// and posts the outcome of each: its name, and why it failed or null.

import { HandleCloser, OpfsDirectory } from '../../worker/file/opfs-file.ts';
import { FILE_CASES } from '../../worker/testing/file.suite.ts';

/** Name of a case, and why it failed or null. */
export type FileOutcome = readonly [name: string, failure: string | null];

// A handle that somebody keeps is given up on at once, not after the time a dying worker may take.
let nowMs = 0;
const environment = {
  now: () => nowMs,
  sleep: async (delayMs: number) => {
    nowMs += delayMs * 50;
  },
};

const root = await navigator.storage.getDirectory();
const outcomes: FileOutcome[] = [];
for (const [i, { name, run }] of FILE_CASES.entries()) {
  const handle = await root.getDirectoryHandle(`case ${i}`, { create: true });
  const closer = new HandleCloser(async () => {});
  try {
    await run(new OpfsDirectory(handle, environment, closer));
    outcomes.push([name, null]);
  } catch (error) {
    outcomes.push([name, String(error)]);
  }
}
postMessage(outcomes);
