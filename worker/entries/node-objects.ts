// `ctx-storage/node`: objects in a Node process, in a folder or in memory, with no browser.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Objects } from '../../src/contract/object-management.ts';
import { WASM_URL } from '../../src/contract/wasm-url.ts';
import type { Platform } from '../boot/start-host.ts';
import { MemoryCatalog, type ObjectCatalog } from '../catalog/catalog.ts';
import { NodeCatalog } from '../catalog/node-catalog.ts';
import { MemoryMedium, type ObjectMedium } from '../file/medium.ts';
import { NodeMedium } from '../file/node-medium.ts';
import type { ClassTable } from '../instance/object-class.ts';
import { appOf } from '../library/provided-env.ts';
import { loadSqlite } from '../vfs/sqlite-module.ts';
import type { InProcessOptions } from './in-process-options.ts';
import { objectsOn } from './objects-on.ts';

export type { Objects } from '../../src/contract/object-management.ts';
export { live } from '../../src/live/live-stub.ts';
export { withSignal } from '../../src/stubs/with-signal.ts';
export type { ClassOptions, ClassTable, UserClass } from '../instance/object-class.ts';
export * from '../library/library.ts';
export type { QueryLimits } from '../sql/query-limits.ts';
export {
  evictDurableObject,
  listDurableObjectIds,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
} from './object-tools.ts';

/** Options of objects in Node. */
export interface NodeOptions extends InProcessOptions {
  /** The folder that keeps the objects; one process holds it at a time. @default memory */
  readonly directory?: string;
}

/**
 * Runs the classes in this process. Alarms run while the process lives; neither alarms nor idle
 * objects keep it alive.
 *
 * @throws CLASS_INVALID; INVALID_ARGUMENT; STORAGE_LOCKED when another process holds the folder
 */
export async function createObjects<Table extends ClassTable>(
  classes: Table,
  options: NodeOptions = {},
): Promise<Objects<Table>> {
  const app = appOf(classes, options);
  const sqlite = await loadSqlite(new Uint8Array(await readFile(WASM_URL)));
  const { directory } = options;
  const start = (medium: ObjectMedium, catalog: ObjectCatalog) =>
    objectsOn<Table>({ sqlite, medium, catalog, ...NODE, isDedicated: false }, app, options);
  if (directory === undefined) return start(new MemoryMedium(), new MemoryCatalog());
  const medium = new NodeMedium(directory);
  try {
    const objects = await start(medium, new NodeCatalog(join(directory, 'catalog')));
    return { ...objects, close: () => objects.close().finally(() => medium.close()) };
  } catch (error) {
    medium.close(); // otherwise the folder stays locked for as long as this process lives
    throw error;
  }
}

const { setTimeout, clearTimeout, setImmediate, Date: SystemDate } = globalThis;

// A message port would keep the process alive, and so would an idle object's timer.
const NODE: Required<Pick<Platform, 'turns' | 'time' | 'sendsStreams'>> = {
  sendsStreams: true,
  turns: { nextTurn: (task) => void setImmediate(task) },
  time: {
    now: () => SystemDate.now(),
    after(delayMs, task, keepsAlive) {
      const timer = setTimeout(task, delayMs);
      if (!keepsAlive) timer.unref();
      return () => clearTimeout(timer);
    },
  },
};
