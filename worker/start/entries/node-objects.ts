// Implements `ctx-storage/node`, which runs objects in a Node process, stored in a folder or in memory.

import { join } from 'node:path';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import { MemoryMedium, type ObjectMedium } from '../../engine/file/medium.ts';
import { NodeMedium } from '../../engine/file/node-medium.ts';
import { openFilesMax } from '../../engine/file/node-process.ts';
import { OPEN_FILES_UNBOUNDED } from '../../engine/sql/query-limits.ts';
import { MemoryCatalog, type ObjectCatalog } from '../../objects/catalog/catalog.ts';
import { NodeCatalog } from '../../objects/catalog/node-catalog.ts';
import type { ClassTable } from '../../objects/instance/object-class.ts';
import { appOf } from '../../realm/library/provided-env.ts';
import { nodePlatform } from './node-platform.ts';
import { type InProcessOptions, objectsOn } from './objects-on.ts';

export { withSignal } from '../../../src/shared/calls/stubs/with-signal.ts';
export type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
export type { Objects } from '../../../src/shared/contract/object-management.ts';
export { live } from '../../../src/shared/live/live-stub.ts';
export type { QueryLimits } from '../../engine/sql/query-limits.ts';
export type { ClassOptions, ClassTable, UserClass } from '../../objects/instance/object-class.ts';
export * from '../../realm/library/library.ts';
export {
  abortAllDurableObjects,
  type EvictionOptions,
  evictAllDurableObjects,
  evictDurableObject,
  listDurableObjectIds,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
} from './object-tools.ts';

/** Options of objects in Node. */
export interface NodeOptions extends InProcessOptions {
  /** The folder in which objects are stored; one process uses it at a time. @default memory */
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
  const platform = { ...(await nodePlatform()), isDedicated: false };
  const { directory } = options;
  const start = (medium: ObjectMedium, catalog: ObjectCatalog, openFiles?: number) =>
    objectsOn<Table>({ ...platform, medium, catalog }, app, options, openFiles);
  if (directory === undefined) return start(new MemoryMedium(), new MemoryCatalog());
  checkDirectory(directory);
  const medium = await NodeMedium.open(directory);
  try {
    const openFiles = Math.min(OPEN_FILES_UNBOUNDED, Math.floor(openFilesMax() / 2));
    const catalog = new NodeCatalog(join(directory, 'catalog'));
    const objects = await start(medium, catalog, openFiles);
    return { ...objects, close: () => objects.close().finally(() => medium.close()) };
  } catch (error) {
    medium.close(); // Release the folder, which would stay locked until this process ends.
    throw error;
  }
}

function checkDirectory(given: unknown): void {
  if (typeof given === 'string' && given !== '' && !given.includes('\0')) return;
  const shown = typeof given === 'string' ? JSON.stringify(given) : `of type ${typeof given}`;
  throw storageError(
    'INVALID_ARGUMENT',
    `createObjects: directory is ${shown}. Give the path of a folder as text, as fileURLToPath makes it of a URL, or ` +
      'leave it out to keep the objects in memory.',
  );
}
