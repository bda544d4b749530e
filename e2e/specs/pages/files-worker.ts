// Runs the cases of the file contract over a medium of the browser, each in a directory of its own, and posts
// the outcome of each: its name, and why it failed or null. The address names the medium: OPFS or, with
// `?indexeddb`, IndexedDB.

import { FILE_CASES } from '../../../packages/testing/worker/file.suite.ts';
import type { FileDirectory } from '../../../worker/engine/file/file.ts';
import { IdbRows } from '../../../worker/engine/file/idb-rows.ts';
import { HandleCloser, OpfsDirectory } from '../../../worker/engine/file/opfs-file.ts';
import { RowFiles } from '../../../worker/engine/file/row-files.ts';

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

async function opfsDirectory(name: string): Promise<FileDirectory> {
  const root = await navigator.storage.getDirectory();
  const handle = await root.getDirectoryHandle(name, { create: true });
  return new OpfsDirectory(handle, environment, new HandleCloser(async () => {}));
}

async function idbDirectory(name: string): Promise<FileDirectory> {
  return new RowFiles(await IdbRows.open(name)).directory('object');
}

const directoryOf = self.location.search === '?indexeddb' ? idbDirectory : opfsDirectory;
const outcomes: FileOutcome[] = [];
for (const [i, { name, run }] of FILE_CASES.entries()) {
  try {
    await run(await directoryOf(`case ${i}`));
    outcomes.push([name, null]);
  } catch (error) {
    outcomes.push([name, String(error)]);
  }
}
postMessage(outcomes);
