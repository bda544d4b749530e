// SQLite, time and turns of a Node process, for hosts of objects in it.

import { readFile } from 'node:fs/promises';
import { ownWasmUrl } from '../../../src/shared/contract/wasm-url.ts';
import { loadSqlite } from '../../engine/vfs/sqlite-module.ts';
import type { Platform } from '../boot/start-host.ts';

/** The parts of a platform that are the same for every host of the process. */
export type NodePlatform = Required<Pick<Platform, 'sqlite' | 'turns' | 'time' | 'sendsStreams'>>;

export async function nodePlatform(): Promise<NodePlatform> {
  return { sqlite: await loadSqlite(new Uint8Array(await readFile(ownWasmUrl()!))), ...NODE };
}

const { setTimeout, clearTimeout, setImmediate, performance, Date: SystemDate } = globalThis;

// A message port would keep the process alive, and so would an idle object's timer.
const NODE: Omit<NodePlatform, 'sqlite'> = {
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
