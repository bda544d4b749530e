// The entry `ctx-storage/drizzle`: Drizzle on the storage of a page, and migrations of drizzle-kit.
//
// It contains no code of the page's entry, and uses only the interface of that entry's handles.

export { drizzle, type StorageDatabase } from './database.ts';
export { type MigratableDatabase, type MigrationFiles, migrate } from './migrations.ts';
