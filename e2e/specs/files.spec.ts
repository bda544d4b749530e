// The contract of files over the browser's own, in a worker, where they are used.

import { FILE_CASES } from '../../packages/testing/worker/file.suite.ts';
import { expect, test } from '../browsers/fixtures.ts';
import type { FileOutcome } from './pages/files-worker.ts';

test('[FILE1] [FILE2] [FILE4] [FILE5] [FILE7] files of the browser behave like all files', async ({
  storagePage,
}) => {
  const outcomes = await storagePage.evaluate(
    () =>
      new Promise<readonly FileOutcome[]>((resolve, reject) => {
        const worker = new Worker('/e2e/specs/pages/files-worker.ts', { type: 'module' });
        worker.onmessage = ({ data }) => {
          // Firefox keeps the page to go back to it, and with it a worker whose files are open.
          worker.terminate();
          resolve(data);
        };
        worker.onerror = ({ message }) => reject(new Error(message));
      }),
  );
  expect(outcomes).toEqual(FILE_CASES.map(({ name }) => [name, null]));
});
