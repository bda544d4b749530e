// Applies migrations to a D1 database of `env`, as wrangler does.
//
// Invariant: a migration and the note that it was applied are one batch, and so one transaction.

import { withoutLastComments } from '@ctx-storage/core/contract';
import { storageError } from '@ctx-storage/core/errors';

/** A migration: the statements of one file. */
export interface MigrationFile {
  readonly name: string;
  readonly queries: readonly string[];
}

interface Statement {
  bind(...values: unknown[]): Statement;
  run(): Promise<unknown>;
  all(): Promise<{ readonly results: readonly Record<string, unknown>[] }>;
}

/** The members of a database that migrations use. */
export interface MigratedDatabase {
  prepare(query: string): Statement;
  batch(statements: Statement[]): Promise<unknown>;
}

/** Applies the migrations that the table does not name. @throws INVALID_ARGUMENT, and errors of the database */
export async function applyD1Migrations(
  database: MigratedDatabase,
  migrations: readonly MigrationFile[],
  migrationsTableName = 'd1_migrations',
): Promise<void> {
  if (typeof database?.prepare !== 'function' || typeof database.batch !== 'function') {
    throw invalidMigrations('a D1 database of env as its first argument');
  }
  if (!Array.isArray(migrations) || !migrations.every(isMigration)) {
    throw invalidMigrations('the result of readD1Migrations(): [{ name, queries }]');
  }
  const table = `"${migrationsTableName.replaceAll('"', '""')}"`;
  await database
    .prepare(
      `CREATE TABLE IF NOT EXISTS ${table} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, ` +
        'applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)',
    )
    .run();
  const { results } = await database.prepare(`SELECT name FROM ${table}`).all();
  const applied = new Set(results.map(({ name }) => name));
  for (const { name, queries } of migrations) {
    if (applied.has(name)) continue;
    await database.batch([
      ...queries
        .map(withoutLastComments)
        .filter((query) => query !== '')
        .map((query) => database.prepare(query)),
      database.prepare(`INSERT INTO ${table} (name) VALUES (?)`).bind(name),
    ]);
  }
}

function isMigration(value: unknown): value is MigrationFile {
  const { name, queries } = (value ?? {}) as Partial<MigrationFile>;
  const isList = Array.isArray(queries) && queries.every((query) => typeof query === 'string');
  return typeof name === 'string' && isList;
}

function invalidMigrations(takes: string): Error {
  return storageError('INVALID_ARGUMENT', `applyD1Migrations: takes ${takes}.`);
}
