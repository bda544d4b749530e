// SQLite's official interface for JavaScript, which tests and benchmarks compare with: on its own build, with
// this package's file system beside its own.

import sqlite3InitModule, { type Sqlite3Static } from '@sqlite.org/sqlite-wasm';
import { LogVfs } from '../../../worker/engine/vfs/log-vfs.ts';
import { memoryOf, type SqliteExports } from '../../../worker/engine/vfs/sqlite-module.ts';

export interface OfficialSqlite {
  readonly sqlite3: Sqlite3Static;
  readonly exports: SqliteExports;
  readonly memory: WebAssembly.Memory;
}

/** The official interface, on its own build or on the module that is passed. */
export async function startOfficial(module?: WebAssembly.Module): Promise<OfficialSqlite> {
  // The package's types omit Emscripten's options on purpose.
  const start = sqlite3InitModule as unknown as (options: object) => Promise<Sqlite3Static>;
  const sqlite3 = await start({
    print() {},
    printErr() {},
    ...(module && {
      instantiateWasm(
        imports: WebAssembly.Imports,
        done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
      ) {
        void WebAssembly.instantiate(module, imports).then((instance) => done(instance, module));
        return {};
      },
    }),
  });
  const { exports, memory } = sqlite3.wasm as unknown as Omit<OfficialSqlite, 'sqlite3'>;
  return { sqlite3, exports, memory };
}

/** Registers this package's file system with it. */
export function logVfsOf({ exports, memory }: OfficialSqlite): LogVfs {
  return new LogVfs(exports, memoryOf(exports, memory));
}
