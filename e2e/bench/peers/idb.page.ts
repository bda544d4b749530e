// IndexedDB from a page; and from a worker, on the same database.

import { serveContender } from './contender-page.ts';
import { idbStore } from './idb-store.ts';
import { callsOf } from './rpc.ts';

serveContender(
  async ({ name, variant }) => ({ page: await idbStore(name, variant!) }),
  async ({ page }, configuration) => {
    const calls = callsOf(new Worker(new URL('./worker.js', location.href), { type: 'module' }));
    await calls('open', configuration);
    return { page, timeInWorker: (row) => calls('time', row) };
  },
);
