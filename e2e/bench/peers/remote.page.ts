// The page of contenders that have only a worker's side.

import { openRemote } from '../../../demo/bench/remote.ts';
import { serveContender } from './contender-page.ts';

serveContender(
  (configuration) =>
    openRemote(
      new Worker(new URL('./worker.js', location.href), { type: 'module' }),
      configuration,
    ),
  async (opened) => opened,
);
