// `ctx-storage/migrate`: brings an object's tables to the shape that the program expects.
//
// The same code for `ctx.storage` in a worker, here and on workerd, and for the storage of a page: it
// awaits what is a promise on one side and a value on the other. It uses nothing but SQL and
// `transaction`, so it runs wherever those two exist.
//
// Keeps true: a migration and the note that it was made are one transaction, so each is made once,
// whoever else opens the object at the same time.

import { storageError } from '../contract/errors.ts';

/** What `migrate` needs of a storage; that of an object has it, and that of a page. */
export interface MigratableStorage {
  readonly sql: {
    exec(query: string, ...bindings: unknown[]): { toArray(): Rows | Promise<Rows> };
  };
  transaction<T>(closure: () => Promise<T>): Promise<T>;
}

type Rows = readonly Readonly<Record<string, unknown>>[];

/** One change of the tables. */
export interface Migration<Storage extends MigratableStorage> {
  /** Names it for ever: a migration of this name is made once for each object. */
  readonly name: string;
  /** SQL of one or more statements, or code, which may await and change keys as well. */
  readonly up: string | ((storage: Storage) => unknown);
}

/** The table that remembers what was made; it moves along with an exported database. */
const TABLE = 'ctx_migration';

/**
 * Makes those migrations that the object has not had, in order, each in a transaction of its own: all of
 * it or nothing. Resolves to the names of those that this call made.
 *
 * Add new migrations at the end; never change or remove one that was released. In a class, call it
 * before anything else: `ctx.blockConcurrencyWhile(() => migrate(ctx.storage, MIGRATIONS))`.
 *
 * @throws StorageError `MIGRATION_CONFLICT` when the object has had others, such as those of a newer
 *   version of the program; `INVALID_ARGUMENT`. A migration that fails rejects with its error: those before
 *   it stay made, and the next call begins with it.
 */
export async function migrate<Storage extends MigratableStorage>(
  storage: Storage,
  migrations: readonly Migration<Storage>[],
): Promise<string[]> {
  mustBeMigrations(migrations);
  const made: string[] = [];
  let position = mustBeMade(await namesMade(storage), migrations);
  while (position < migrations.length) {
    const next = migrations[position]!;
    const isMade = await storage.transaction(async () => {
      const before = mustBeMade(await namesMade(storage), migrations);
      if (before > position) return false; // by another tab, meanwhile
      await perform(storage, next);
      await exec(
        storage,
        `INSERT INTO ${TABLE} (position, name) VALUES (?, ?)`,
        position,
        next.name,
      );
      return true;
    });
    if (isMade) made.push(next.name);
    position++;
  }
  return made;
}

async function perform<Storage extends MigratableStorage>(
  storage: Storage,
  { up }: Migration<Storage>,
): Promise<void> {
  const columns = '(position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)';
  await exec(storage, `CREATE TABLE IF NOT EXISTS ${TABLE} ${columns}`);
  if (typeof up === 'string') await exec(storage, up);
  else await up(storage);
}

async function namesMade(storage: MigratableStorage): Promise<string[]> {
  // Looked up first, so that an object that needs no migration is not written to.
  const tables = 'SELECT name FROM sqlite_master WHERE type = ? AND name = ?';
  if ((await exec(storage, tables, 'table', TABLE)).length === 0) return [];
  const rows = await exec(storage, `SELECT name FROM ${TABLE} ORDER BY position`);
  return rows.map(({ name }) => String(name));
}

async function exec(
  storage: MigratableStorage,
  query: string,
  ...bindings: unknown[]
): Promise<Rows> {
  return await storage.sql.exec(query, ...bindings).toArray();
}

/** How many were made. @throws MIGRATION_CONFLICT unless they are the first ones of the program */
function mustBeMade(made: readonly string[], migrations: readonly Migration<never>[]): number {
  for (const [index, name] of made.entries()) {
    const expected = migrations[index]?.name;
    if (name === expected) continue;
    throw storageError(
      'MIGRATION_CONFLICT',
      expected === undefined
        ? `migrate: the object has had "${name}", which this program does not know; a newer version ` +
            'of the program has opened it. Load that version.'
        : `migrate: migration ${index + 1} is "${expected}" in the program, and "${name}" in the ` +
            'object. Add migrations at the end, and keep those that were released as they are.',
    );
  }
  return made.length;
}

function mustBeMigrations(migrations: unknown): void {
  if (!Array.isArray(migrations)) throw invalid('takes an array of { name, up }');
  const names = new Set<string>();
  for (const [index, migration] of migrations.entries()) {
    const { name, up } = (migration ?? {}) as Record<string, unknown>;
    if (typeof name !== 'string' || name === '') {
      throw invalid(`migration ${index + 1} has no name, which must be a text`);
    }
    if (typeof up !== 'string' && typeof up !== 'function') {
      throw invalid(`"${name}" has no \`up\`, which is SQL or a function`);
    }
    if (names.has(name)) throw invalid(`two migrations are called "${name}"`);
    names.add(name);
  }
}

function invalid(fact: string): Error {
  return storageError('INVALID_ARGUMENT', `migrate: ${fact}.`);
}
