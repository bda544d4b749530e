// Provides SQLite, time and turns for hosts of objects in a Node process.

import { readFile } from 'node:fs/promises';
import { ownWasmUrl } from '../../../src/shared/contract/wasm-url.ts';
import { loadSqlite } from '../../engine/vfs/sqlite-module.ts';
import type { Platform } from '../boot/start-host.ts';

/** The parts of a platform that all hosts of the process share. */
export type NodePlatform = Required<Pick<Platform, 'sqlite' | 'turns' | 'time' | 'sendsStreams'>>;

export async function nodePlatform(): Promise<NodePlatform> {
  return {
    sqlite: await loadSqlite(new Uint8Array(await readFile(ownWasmUrl()!))),
    ...NODE_TIME_AND_TURNS,
  };
}

const { setTimeout, clearTimeout, setImmediate, performance, Date: SystemDate } = globalThis;

// Turns use no message port, and timers of idle objects are unreferenced, because both would keep the process alive.
const NODE_TIME_AND_TURNS: Omit<NodePlatform, 'sqlite'> = {
  sendsStreams: true,
  turns: { nextTurn: (task) => void setImmediate(task) },
  time: {
    now: () => SystemDate.now(),
    elapsed: () => performance.now(),
    after(delayMs, task, keepsAlive) {
      const timer = setTimeout(task, delayMs);
      if (!keepsAlive) timer.unref();
      return () => clearTimeout(timer);
    },
  },
};
