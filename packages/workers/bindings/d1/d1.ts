// `d1()` describes a D1 database that becomes a member of `env`.

import { BINDING, compareMigrations, type EnvBinding } from '@ctx-storage/core/contract';
import type { DurableObjectNamespace } from '@ctx-storage/core/object';
import { D1Database } from './d1-database.ts';
import { type D1Migration, D1Object } from './d1-object.ts';

export interface D1Options {
  /** The name of the data, which bindings with the same id share. @default the name of the binding */
  readonly id?: string;
  /**
   * The texts of the migrations by the names of their files, such as `0001_a.sql` or `0001_a/migration.sql`, or by
   * paths as `import.meta.glob` gives them. Migrations that the table of migrations does not list are applied before
   * the first statement, in the order of the numbers with which their names begin.
   */
  readonly migrations?: Readonly<Record<string, string>>;
  /** The table that has the names of the applied migrations. @default d1_migrations */
  readonly migrationsTable?: string;
}

/** A D1 database: `bindings: { DB: d1() }`. */
export function d1({
  id,
  migrations = {},
  migrationsTable = 'd1_migrations',
}: D1Options = {}): EnvBinding {
  const ordered = { files: sortedMigrations(migrations), table: migrationsTable };
  return {
    [BINDING]: (name) => ({
      className: 'D1Object',
      class: D1Object,
      client: (objects) =>
        new D1Database(objects as DurableObjectNamespace<D1Object>, id ?? name, ordered),
    }),
  };
}

function sortedMigrations(migrations: Readonly<Record<string, string>>): D1Migration[] {
  const named = Object.entries(migrations).map(([path, sql]) => ({
    name: migrationName(path),
    sql,
  }));
  return named.sort((a, b) => compareMigrations(a.name, b.name));
}

/**
 * Returns the name of a migration's file. drizzle-kit gives all files the name `migration.sql`, so the name of such a
 * file includes its folder.
 */
function migrationName(path: string): string {
  if (!/^\.{0,2}\//.test(path)) return path;
  const names = path.split('/');
  const count = names.length > 2 && names.at(-1) === 'migration.sql' ? 2 : 1;
  return names.slice(-count).join('/');
}
