// IndexedDB from a page; and from a worker, on the same database.

import { idbStore } from '../../../demo/bench/idb-store.ts';
import { timeInWorker } from '../../../demo/bench/remote.ts';
import { serveContender } from './contender-page.ts';

serveContender(
  async ({ name, variant }) => ({ page: await idbStore(name, variant!) }),
  async ({ page }, configuration) => {
    const worker = new Worker(new URL('./worker.js', location.href), { type: 'module' });
    return { page, timeInWorker: await timeInWorker(worker, configuration) };
  },
);
