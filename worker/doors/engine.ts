// The names of `worker/engine` that packages may import: files, SQL and the content of one object.

export {
  closedError,
  type FileDirectory,
  removeOpenError,
  type SyncFile,
} from '../engine/file/file.ts';
export { MemoryMedium, type ObjectMedium } from '../engine/file/medium.ts';
export { annotationOf } from '../engine/log/annotation.ts';
export type { Database } from '../engine/sql/database.ts';
export { completeLimits } from '../engine/sql/query-limits.ts';
export type { PreparedStatement } from '../engine/sql/statement.ts';
export type { Copy } from '../engine/storage/copied-content.ts';
export { lateCode } from '../engine/storage/load-late.ts';
export { loadSqlite, type Sqlite } from '../engine/vfs/sqlite-module.ts';
