// What a project's wrangler.jsonc says of its classes: names, bindings, storage, date and variables.
//
// Knows nothing of files and of Vite. Only what concerns hosted classes is read; everything else of
// the file is somebody else's.

import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';

/** A class and where its objects keep their data. */
export interface ConfiguredClass {
  readonly name: string;
  readonly storage: 'sql' | 'kv';
}

export interface ObjectsConfig {
  /** Name of the script: part of the classes' unique keys. */
  readonly scriptName: string | undefined;
  /** The module that exports the classes, as written: relative to the file. */
  readonly main: string;
  readonly classes: readonly ConfiguredClass[];
  /** Name in `env` to name of the class. */
  readonly bindings: Readonly<Record<string, string>>;
  readonly compatibilityDate: string | undefined;
  /** Goes into `env`. */
  readonly vars: Readonly<Record<string, unknown>>;
}

interface Binding {
  readonly name?: unknown;
  readonly class_name?: unknown;
  readonly script_name?: unknown;
}

interface Migration {
  readonly new_sqlite_classes?: readonly string[];
  readonly new_classes?: readonly string[];
  readonly renamed_classes?: readonly { readonly from: string; readonly to: string }[];
  readonly deleted_classes?: readonly string[];
}

interface WranglerFile {
  readonly name?: string;
  readonly main?: string;
  readonly compatibility_date?: string;
  readonly vars?: Record<string, unknown>;
  readonly durable_objects?: { readonly bindings?: readonly Binding[] };
  readonly migrations?: readonly Migration[];
}

/** @throws Error that names the file, and the place or the entry that is wrong */
export function parseWranglerConfig(text: string, path: string): ObjectsConfig {
  const file = parseFile(text, path);
  if (typeof file.main !== 'string') {
    throw new Error(`${path}: "main" is missing; name the module that exports the classes.`);
  }
  const storage = storageOf(file.migrations ?? []);
  const bindings: Record<string, string> = {};
  for (const binding of file.durable_objects?.bindings ?? []) {
    const { name, class_name: className, script_name: scriptName } = binding;
    if (typeof name !== 'string' || typeof className !== 'string') {
      throw new Error(
        `${path}: each of durable_objects.bindings has a "name" and a "class_name", not ` +
          `${JSON.stringify(binding)}.`,
      );
    }
    if (scriptName !== undefined && scriptName !== file.name) {
      throw new Error(
        `${path}: binding ${name} is a class of another script, "${scriptName}"; only classes of ` +
          'this one can be hosted here. Export the class from "main" and leave "script_name" out.',
      );
    }
    bindings[name] = className;
    // Without a migration it is a new class, and new classes are on SQLite.
    if (!storage.has(className)) storage.set(className, 'sql');
  }
  return {
    scriptName: file.name,
    main: file.main,
    classes: [...storage].map(([name, kind]) => ({ name, storage: kind })),
    bindings,
    compatibilityDate: file.compatibility_date,
    vars: file.vars ?? {},
  };
}

function parseFile(text: string, path: string): WranglerFile {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined) {
    const before = text.slice(0, first.offset).split('\n');
    const place = `${before.length}:${before.at(-1)!.length + 1}`;
    throw new Error(`${path}:${place}: not JSON: ${printParseErrorCode(first.error)}.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${path}: the file holds no object.`);
  }
  return value as WranglerFile;
}

/** Migrations are a history: what they leave, in their order. */
function storageOf(migrations: readonly Migration[]): Map<string, 'sql' | 'kv'> {
  const storage = new Map<string, 'sql' | 'kv'>();
  for (const migration of migrations) {
    for (const name of migration.new_sqlite_classes ?? []) storage.set(name, 'sql');
    for (const name of migration.new_classes ?? []) storage.set(name, 'kv');
    for (const { from, to } of migration.renamed_classes ?? []) {
      const kind = storage.get(from) ?? 'sql';
      storage.delete(from);
      storage.set(to, kind);
    }
    for (const name of migration.deleted_classes ?? []) storage.delete(name);
  }
  return storage;
}
