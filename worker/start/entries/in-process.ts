// Implements `ctx-storage/in-process`, which runs objects in this thread, without a page: in memory, or on a medium that
// the caller passes.

import type { Objects } from '../../../src/shared/contract/object-management.ts';
import {
  type ConsoleEntry,
  checkSource,
  type SourceFiles,
} from '../../../src/shared/contract/source.ts';
import { MemoryMedium, type ObjectMedium } from '../../engine/file/medium.ts';
import { loadSqlite } from '../../engine/vfs/sqlite-module.ts';
import { MemoryCatalog } from '../../objects/catalog/catalog.ts';
import type { ClassTable } from '../../objects/instance/object-class.ts';
import { appOf } from '../../realm/library/provided-env.ts';
import { relayConsole } from '../../realm/source/console-relay.ts';
import { browserLoader, type LoadedSource, loadModules } from '../../realm/source/load-source.ts';
import { type InProcessOptions, objectsOn } from './objects-on.ts';

export { withSignal } from '../../../src/shared/calls/stubs/with-signal.ts';
export type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
export type { NamespacesOf, Objects } from '../../../src/shared/contract/object-management.ts';
export type { ConsoleEntry, SourceFiles } from '../../../src/shared/contract/source.ts';
export { live } from '../../../src/shared/live/live-stub.ts';
export type { FileDirectory, SyncFile } from '../../engine/file/file.ts';
export { MemoryMedium, type ObjectMedium } from '../../engine/file/medium.ts';
export type { QueryLimits } from '../../engine/sql/query-limits.ts';
export type { LoadedSource } from '../../realm/source/load-source.ts';
export type { InProcessOptions } from './objects-on.ts';

/**
 * Runs the classes on the medium, or in memory when none is passed.
 *
 * `wasm` is this package's `sqlite3.wasm`, as a compiled module, as bytes, or as its address.
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

/**
 * Loads modules given as texts into this thread, in a browser's page or worker, and returns the classes that the main
 * module exports, for `createObjects`. The promise never settles if the code runs without end while it is loaded: call
 * this function in a worker that can be terminated.
 *
 * @throws INVALID_ARGUMENT, SOURCE_INVALID
 */
export async function loadSource(
  files: SourceFiles,
  options: {
    readonly main?: string;
    /** Receives this thread's console output from now on. */
    readonly onConsole?: (entry: ConsoleEntry) => void;
  } = {},
): Promise<LoadedSource> {
  const source = checkSource('loadSource', files, options.main);
  if (options.onConsole !== undefined) relayConsole(console, Date.now, options.onConsole);
  return loadModules(source, browserLoader);
}
