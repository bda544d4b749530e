// A page of this package that calls a class, and opens no storage.

import type { Bench } from '../../../demo/bench/ours-class.ts';
import { classOf } from '../../../demo/bench/ours-store.ts';
import { connect } from '../../../src/index.ts';
import { serveContender } from './contender-page.ts';

serveContender(
  async ({ name }) => {
    const start = () => new Worker(new URL('./class-worker.js', location.href), { type: 'module' });
    const { env } = await connect<{ Bench: typeof Bench }>(start);
    return { page: classOf(env.Bench.getByName(name)).class! };
  },
  async (opened) => opened,
);
