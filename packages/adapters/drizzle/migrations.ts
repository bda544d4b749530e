// Translates the files of drizzle-kit's folder into migrations of `ctx-storage/migrate`.
//
// Invariant: the migrations have the names and the order of the folder's journal. drizzle-kit 1 writes no journal, but
// a folder for each migration; there, the names of the folders decide the order.
//
// To change a table, drizzle-kit turns foreign keys off and makes the table again. SQLite ignores that in a
// transaction, so dropping the old table would delete or change the rows that refer to it. Such a migration is refused.

import { storageError } from '@ctx-storage/core/errors';
import {
  type MigratableStorage,
  type Migration,
  migrate as migrateBy,
} from '../migrate/migrate.ts';

/** The text of drizzle-kit's files by their paths, as `import.meta.glob` of Vite gives them. */
export type MigrationFiles = Readonly<Record<string, string>>;

/** A database of Drizzle on a storage: of this module, or of `drizzle-orm/durable-sqlite`. */
export interface MigratableDatabase {
  readonly $client: MigratableStorage;
}

const JOURNAL = 'meta/_journal.json';
const MIGRATION = /^(?<folder>.*\/|)(?<name>[^/]+)\/migration\.sql$/s;
const BREAKPOINT = '--> statement-breakpoint';

/**
 * Makes the migrations of drizzle-kit's folder that the object has not had, with the rules of `migrate` of
 * `ctx-storage/migrate`. Resolves to the names of the migrations that this call made.
 *
 * @throws StorageError `INVALID_ARGUMENT` if there are no migrations, or a file of the journal is missing; as `migrate`
 *   of `ctx-storage/migrate`
 */
export async function migrate(db: MigratableDatabase, files: MigrationFiles): Promise<string[]> {
  return migrateBy(db.$client, migrationsOf(files));
}

function migrationsOf(files: MigrationFiles): Migration<MigratableStorage>[] {
  const journal = Object.keys(files).find((each) => each.endsWith(JOURNAL));
  const folderTexts = textsInFolders(files);
  if (journal !== undefined && folderTexts.size > 0) {
    throw invalidMigrations(
      `the files have ${journal}, and folders of drizzle-kit 1; run drizzle-kit up`,
    );
  }
  const texts = journal === undefined ? folderTexts : textsOfJournal(files, journal);
  if (texts.size === 0 && journal === undefined) {
    throw invalidMigrations(`the files have neither ${JOURNAL} nor folders with a migration.sql`);
  }
  return [...texts].map(([name, text]) => ({
    name,
    up: (storage) => runStatements(storage, text),
  }));
}

function textsOfJournal(files: MigrationFiles, path: string): Map<string, string> {
  const folder = path.slice(0, -JOURNAL.length);
  const named = parseJournal(files[path]!, path).map((name): [string, string] => {
    const text = files[`${folder}${name}.sql`];
    if (text === undefined)
      throw invalidMigrations(`${folder}${name}.sql is missing, which the journal names`);
    return [name, text];
  });
  return new Map(named);
}

/**

 * Returns the texts of the folders' migrations, sorted by the folders' names, which begin with a time. Like drizzle-kit, it

 * does not read folders inside of them.

 */
function textsInFolders(files: MigrationFiles): Map<string, string> {
  const found = Object.entries(files).flatMap(([path, text]) => {
    const { folder, name } = MIGRATION.exec(path)?.groups ?? {};
    return name === undefined ? [] : [{ folder: folder!, name, text }];
  });
  found.sort((a, b) => a.folder.length - b.folder.length || a.name.localeCompare(b.name));
  const [first] = found;
  const other = found.find(({ folder }) => !folder.startsWith(first!.folder));
  if (other !== undefined) {
    throw invalidMigrations(
      `${first!.folder} and ${other.folder} both have migrations; give the files of one folder`,
    );
  }
  const inThisFolder = found.filter(({ folder }) => folder === first!.folder);
  return new Map(inThisFolder.map(({ name, text }) => [name, text]));
}

function parseJournal(journal: string, path: string): string[] {
  try {
    const { entries } = JSON.parse(journal) as { entries: { tag: string }[] };
    return entries.map(({ tag }) => tag);
  } catch (cause) {
    throw invalidMigrations(`${path} is not a journal of drizzle-kit`, { cause });
  }
}

async function runStatements(storage: MigratableStorage, text: string): Promise<void> {
  if (/\bPRAGMA\s+foreign_keys\s*=\s*OFF\b/i.test(text)) await checkRowsStay(storage, text);
  for (const statement of text.split(BREAKPOINT)) {
    if (hasCode(statement)) await storage.sql.exec(statement).toArray();
  }
}

/** Returns whether the text has a statement, and not only comments. */
function hasCode(text: string): boolean {
  return text.split('\n').some((line) => !/^(--|$)/.test(line.trim()));
}

/** Lists the foreign keys whose rows change when the row to which they refer is deleted. */
const FOREIGN_KEYS_WITH_ACTION = `
  SELECT child.name AS child, key."table" AS parent, key.on_delete AS action
  FROM sqlite_master AS child, pragma_foreign_key_list(child.name) AS key
  WHERE child.type = 'table' AND key.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT')`;

async function checkRowsStay(storage: MigratableStorage, text: string): Promise<void> {
  const drops = text.matchAll(/\bDROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?(?:[`"[]([^`"\]]+)|(\w+))/gi);
  const dropped = new Set([...drops].map(([, quoted, bare]) => (quoted ?? bare!).toLowerCase()));
  const references = await storage.sql.exec(FOREIGN_KEYS_WITH_ACTION).toArray();
  for (const { child, parent, action } of references as readonly Record<string, string>[]) {
    const isSelfReference = child!.toLowerCase() === parent!.toLowerCase();
    if (isSelfReference || !dropped.has(parent!.toLowerCase())) continue;
    const name = child!.replaceAll('"', '""');
    const rows = await storage.sql.exec(`SELECT 1 FROM "${name}" LIMIT 1`).toArray();
    if (rows.length === 0) continue;
    throw new Error(
      `it drops "${parent}", to which rows of "${child}" refer (ON DELETE ${action}). Foreign keys stay on in a ` +
        'transaction, so these rows would be lost or changed. Keep them in another table meanwhile, and delete ' +
        '"PRAGMA foreign_keys=OFF" from the migration.',
    );
  }
}

function invalidMigrations(fact: string, options?: ErrorOptions): Error {
  return storageError('INVALID_ARGUMENT', `migrate: ${fact}.`, options);
}
