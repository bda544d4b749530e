// The entry `ctx-storage/migrate`: applies migrations, which bring an object's tables to the shape that the program
// expects.
//
// The code runs on `ctx.storage` here and on workerd, where results are values, and on the storage of a page, where
// they are promises: it awaits them all. It uses only SQL and `transaction`. An old tab, or a build that was rolled
// back, can meet an object with more migrations than it knows. It continues, unless the table of migrations says of one
// of them that older builds must not.
//
// Invariant: a migration and its row in the table are one transaction. So each migration is applied once, even if
// several tabs open the object at the same time.

import { storageError } from '@ctx-storage/core/errors';

/** The members that `migrate` needs; both `ctx.storage` and a page's storage have them. */
export interface MigratableStorage {
  readonly sql: {
    exec(query: string, ...bindings: unknown[]): { toArray(): Rows | Promise<Rows> };
  };
  transaction<T>(closure: () => Promise<T>): Promise<T>;
}

type Rows = readonly Readonly<Record<string, unknown>>[];

/** A migration: one change of the tables, which is applied to each object once. */
export interface Migration<Storage extends MigratableStorage> {
  /** Names it for ever: a migration of this name is made once for each object. */
  readonly name: string;
  /** SQL of one or more statements, or code, which may await and change keys as well. */
  readonly up: string | ((storage: Storage) => unknown);
  /**
   * The code of builds without this migration cannot use its result: `migrate` rejects there with
   * `MIGRATION_CONFLICT`. A number or text names the first build that has the migration, for the error.
   * The mark is stored when the migration is made; marking it later has no effect on that object.
   *
   * @default false
   */
  readonly breaking?: boolean | number | string;
}

/** A migration that is applied, as the table of migrations lists it. */
interface AppliedMigration {
  readonly name: string;
  /** The first build that can use the object since then, '' if it has no name; undefined if older builds can, too. */
  readonly needs: string | undefined;
}

/**
 * The table of applied migrations; it moves along with an exported database. `needs` is null where older
 * builds continue; tables of an early checkout lack the column.
 */
const TABLE = 'ctx_migration';

/**
 * Applies the missing migrations in order, each in a transaction of its own, wholly or not at all. Resolves
 * to the names of the migrations that this call applied. An object that has all of them, followed by those
 * of a newer build, is used as it is, unless one of these is `breaking` (rule APP1).
 *
 * Add new migrations at the end; never change or remove a released migration. In a class, call it before
 * anything else: `ctx.blockConcurrencyWhile(() => migrate(ctx.storage, MIGRATIONS))`.
 *
 * @throws StorageError `MIGRATION_CONFLICT` when the object has had a `breaking` migration of a newer build,
 *   or others than those at the beginning of the list. `MIGRATION_FAILED` when a migration throws, with its
 *   error as `cause`: it is undone, those before it stay made, and the next call begins with it. A
 *   `retryable` error is passed on as it is. `INVALID_ARGUMENT`.
 */
export async function migrate<Storage extends MigratableStorage>(
  storage: Storage,
  migrations: readonly Migration<Storage>[],
): Promise<string[]> {
  checkMigrations(migrations);
  const applied: string[] = [];
  let position = checkApplied(await readApplied(storage), migrations);
  while (position < migrations.length) {
    const next = migrations[position]!;
    const isApplied = await storage.transaction(async () => {
      const before = checkApplied(await readApplied(storage), migrations);
      if (before > position) return false; // Another tab has applied the migration meanwhile.
      await runMigration(storage, next);
      await insertRow(storage, position, next);
      return true;
    });
    if (isApplied) applied.push(next.name);
    position++;
  }
  return applied;
}

async function runMigration<Storage extends MigratableStorage>(
  storage: Storage,
  { name, up }: Migration<Storage>,
): Promise<void> {
  try {
    if (typeof up === 'string') await exec(storage, up);
    else await up(storage);
  } catch (error) {
    if (error instanceof Error && 'retryable' in error && error.retryable) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw storageError(
      'MIGRATION_FAILED',
      `migrate: "${name}" failed and left no change: ${reason}`,
      { cause: error },
    );
  }
}

/** Adds the row of an applied migration to the table. It runs in the transaction of the migration. */
async function insertRow(
  storage: MigratableStorage,
  position: number,
  { name, breaking = false }: Migration<never>,
): Promise<void> {
  const columns = '(position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, needs TEXT)';
  await exec(storage, `CREATE TABLE IF NOT EXISTS ${TABLE} ${columns}`);
  const into = `INSERT INTO ${TABLE}`;
  if (breaking === false) {
    await exec(storage, `${into} (position, name) VALUES (?, ?)`, position, name);
    return;
  }
  const lacking = `SELECT 1 FROM pragma_table_info(?) WHERE name = 'needs'`;
  if ((await exec(storage, lacking, TABLE)).length === 0) {
    await exec(storage, `ALTER TABLE ${TABLE} ADD COLUMN needs TEXT`);
  }
  const needs = breaking === true ? '' : String(breaking);
  await exec(storage, `${into} (position, name, needs) VALUES (?, ?, ?)`, position, name, needs);
}

async function readApplied(storage: MigratableStorage): Promise<AppliedMigration[]> {
  // The table is looked up and not created, so that an object that needs no migration is not written to.
  const tables = 'SELECT name FROM sqlite_master WHERE type = ? AND name = ?';
  if ((await exec(storage, tables, 'table', TABLE)).length === 0) return [];
  const rows = await exec(storage, `SELECT * FROM ${TABLE} ORDER BY position`);
  return rows.map(({ name, needs }) => ({
    name: String(name),
    needs: typeof needs === 'string' ? needs : undefined,
  }));
}

async function exec(
  storage: MigratableStorage,
  query: string,
  ...bindings: unknown[]
): Promise<Rows> {
  return await storage.sql.exec(query, ...bindings).toArray();
}

/**
 * Returns the number of applied migrations, which is more than the program has after a newer build.
 *
 * @throws MIGRATION_CONFLICT unless one list begins with the other, and this build may use the rest
 */
function checkApplied(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration<never>[],
): number {
  for (const [index, { name }] of applied.slice(0, migrations.length).entries()) {
    const expected = migrations[index]!.name;
    if (name !== expected) throw conflictError(index, name, expected, migrations);
  }
  // Only the last breaking migration counts, because a build that has it also has the migrations before it.
  const last = applied.slice(migrations.length).findLast(({ needs }) => needs !== undefined);
  if (last !== undefined) {
    const build = last.needs === '' ? 'a build that has it' : `build ${last.needs} or a newer one`;
    throw storageError(
      'MIGRATION_CONFLICT',
      `migrate: the object has had "${last.name}", which is marked as breaking and which this build ` +
        `does not have. The object needs ${build}; nothing was changed. Load that build.`,
    );
  }
  return applied.length;
}

function conflictError(
  index: number,
  name: string,
  expected: string,
  migrations: readonly Migration<never>[],
): Error {
  const fact = `migrate: migration ${index + 1} is "${expected}" in the program, and "${name}" in the object`;
  const place = migrations.findIndex((migration) => migration.name === name);
  const reason =
    place < 0
      ? `The program has no "${name}": it was renamed or removed, or another build has made it. Give it ` +
        'its name and its place back, and add yours after it.'
      : `The program has "${name}" as migration ${place + 1}. Put it back to its place, and add new ones ` +
        'at the end.';
  return storageError('MIGRATION_CONFLICT', `${fact}; nothing was changed. ${reason}`);
}

function checkMigrations(migrations: unknown): void {
  if (!Array.isArray(migrations)) throw invalidMigrations('takes an array of { name, up }');
  const names = new Set<string>();
  for (const [index, migration] of migrations.entries()) {
    const { name, up, breaking = false } = (migration ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string' || name === '') {
      throw invalidMigrations(`migration ${index + 1} has no name, which must be a text`);
    }
    // SQLite would store another text for such a name, so the next call would not find the migration.
    if (!name.isWellFormed()) {
      throw invalidMigrations(
        `migration ${index + 1} has a lone surrogate in its name, which SQLite cannot store`,
      );
    }
    if (typeof up !== 'string' && typeof up !== 'function') {
      throw invalidMigrations(`"${name}" has no \`up\`, which is SQL or a function`);
    }
    if (!['boolean', 'number', 'string'].includes(typeof breaking) || breaking === '') {
      throw invalidMigrations(
        `"${name}" has a \`breaking\` that is neither true nor the name of a build`,
      );
    }
    if (names.has(name)) throw invalidMigrations(`two migrations are called "${name}"`);
    names.add(name);
  }
}

function invalidMigrations(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `migrate: ${fact}.`);
}
