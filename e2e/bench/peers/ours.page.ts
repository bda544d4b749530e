// This package from a page: through a handle of a storage, and through calls of a class.

import type { Bench } from '../../../demo/bench/ours-class.ts';
import { classOf, storeOf } from '../../../demo/bench/ours-store.ts';
import { connect, openStorage } from '../../../src/index.ts';
import { serveContender } from './contender-page.ts';

serveContender(
  async ({ name }) => ({ page: storeOf(await openStorage(name)) }),
  async ({ page }, { name }) => {
    const start = () => new Worker(new URL('./class-worker.js', location.href), { type: 'module' });
    const { env } = await connect<{ Bench: typeof Bench }>(start);
    return { page, ...classOf(env.Bench.getByName(name)) };
  },
);
