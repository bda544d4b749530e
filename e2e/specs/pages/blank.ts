// A page with nothing but the package: tests act on it from outside.

import startProject from 'virtual:ctx-storage/start';
import { liveHistory } from '../../../packages/adapters/history/live-history.ts';
import { migrate } from '../../../packages/adapters/migrate/migrate.ts';
import { reconnecting, routeToWorker } from '../../../packages/adapters/socket/reconnecting.ts';
import { undoStack } from '../../../packages/adapters/undo/undo.ts';
import { connectSource } from '../../../packages/entries/connect-source.ts';
import { followed, settled } from '../../../packages/follow/app/followed.ts';
import { type ConnectOptions, connect, live, openStorage, withSignal } from '../../../src/index.ts';
import type { Classes } from './objects-worker.ts';
import { startWriting, verifyWrites } from './writer.ts';

/** Workers that were started for `connectRooms`, for tests that end one. */
const workers: Worker[] = [];

function startRooms(): Worker {
  const worker = new Worker(new URL('./objects-worker.ts', import.meta.url), { type: 'module' });
  workers.push(worker);
  return worker;
}

const connectRooms = (options?: ConnectOptions) => connect<Classes>(startRooms, options);

/** The class of a wrangler project, as the plugin serves it. */
const connectProject = () => connect<{ ROOM: object }>(startProject, { directory: 'project' });

const api = {
  openStorage,
  connect,
  connectSource,
  live,
  withSignal,
  migrate,
  liveHistory,
  reconnecting,
  routeToWorker,
  followed,
  settled,
  undoStack,
  connectRooms,
  startRooms,
  connectProject,
  workers,
  startWriting,
  verifyWrites,
};

declare global {
  interface Window {
    api: typeof api;
  }
}

window.api = api;
