// Objects in this thread, without a page, for runtimes without OPFS: in memory, or on a medium that the
// caller passes.

import type { Objects } from '../../src/contract/object-management.ts';
import { MemoryCatalog } from '../catalog/catalog.ts';
import { MemoryMedium, type ObjectMedium } from '../file/medium.ts';
import type { ClassTable } from '../instance/object-class.ts';
import { appOf } from '../library/provided-env.ts';
import { loadSqlite } from '../vfs/sqlite-module.ts';
import type { InProcessOptions } from './in-process-options.ts';
import { objectsOn } from './objects-on.ts';

export type { NamespacesOf, Objects } from '../../src/contract/object-management.ts';
export type { ConsoleEntry, SourceFiles } from '../../src/contract/source.ts';
export { live } from '../../src/live/live-stub.ts';
export { withSignal } from '../../src/stubs/with-signal.ts';
export type { FileDirectory, SyncFile } from '../file/file.ts';
export { MemoryMedium, type ObjectMedium } from '../file/medium.ts';
export type { LoadedSource } from '../source/load-source.ts';
export type { QueryLimits } from '../sql/query-limits.ts';
export type { InProcessOptions } from './in-process-options.ts';
export { loadSource } from './load-source.ts';

/**
 * Runs the classes on the medium, or in memory when none is passed.
 *
 * `wasm`: this package's `sqlite3.wasm`, as a compiled module, as bytes, or as its address.
 *
 * @throws CLASS_INVALID, WORKER_FAILED
 */
export async function createObjects<Table extends ClassTable>(
  classes: Table,
  options: InProcessOptions & {
    readonly wasm: URL | WebAssembly.Module | Uint8Array<ArrayBuffer>;
    readonly medium?: ObjectMedium;
  },
): Promise<Objects<Table>> {
  const app = appOf(classes, options);
  const { wasm, medium = new MemoryMedium() } = options;
  const sqlite = await loadSqlite(wasm);
  const catalog = new MemoryCatalog();
  return objectsOn({ sqlite, medium, catalog, isDedicated: false }, app, options);
}
