// A page with nothing but the package: what tests do with it, they do from outside.

import startDemo from 'virtual:ctx-storage/start';
import { connect, live, openStorage } from '../../src/index.ts';
import { migrate } from '../../src/migrate/migrate.ts';
import type { Classes } from './objects-worker.ts';
import { startWriting, verifyWrites } from './writer.ts';

/** Workers that were started for `connectRooms`, for tests that end one. */
const workers: Worker[] = [];

function startRooms(): Worker {
  const address = new URL('./objects-worker.ts', import.meta.url);
  const worker = new Worker(address, { type: 'module' });
  workers.push(worker);
  return worker;
}

const connectRooms = () => connect<Classes>(startRooms);

/** The demo's class, as the plugin serves it. */
const connectDemo = () => connect<{ ROOM: object }>(startDemo, { directory: 'demo' });

const api = {
  openStorage,
  connect,
  live,
  migrate,
  connectRooms,
  startRooms,
  connectDemo,
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
