// Parses the wrangler file of a project (JSON or TOML) for one of its environments: classes with their storage,
// bindings, date, variables and products. This module uses neither the file system nor Vite.

import {
  findNodeAtLocation,
  type Node,
  type ParseError,
  parse,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { parse as parseToml, TomlError } from 'smol-toml';
import * as v from 'valibot';
import { migrationPlace } from './migration-files.ts';
import type { ModuleRule } from './module-rules.ts';
import { type NodeApis, nodeApis } from './node-apis.ts';
import { environmentIn, hasSetting, unreadSettings } from './unread-settings.ts';
import {
  type MemberCall,
  type MissingMember,
  memberCalls,
  missingMembers,
  type OwnService,
  PRODUCT_SECTIONS,
  type Products,
  repeatedName,
  Section,
  servicesTo,
} from './wrangler-products.ts';

/** A class and the kind of its objects' storage. */
export interface ConfiguredClass {
  readonly name: string;
  readonly storage: 'sql' | 'kv';
}

/** A command of the project that makes files for its worker or assets. */
export interface ProjectBuild {
  readonly command: string;
  /**
   * The folder in which the command runs, relative to the file. `watched` are the folders whose changes run it again.
   */
  readonly folder: string;
  readonly watched: readonly string[];
}

export interface ObjectsConfig {
  /** The name of the script, which is a part of the classes' unique keys. */
  readonly scriptName: string | undefined;
  /** The path of the module that exports the classes, relative to the file. */
  readonly main: string | undefined;
  readonly classes: readonly ConfiguredClass[];
  /** The names of classes by their names in `env`. */
  readonly bindings: Readonly<Record<string, string>>;
  readonly compatibilityDate: string | undefined;
  readonly compatibilityFlags: readonly string[];
  readonly nodeApis: NodeApis;
  /** The variables that become members of `env`. */
  readonly vars: Readonly<Record<string, unknown>>;
  /** The names of the variables that do not become members of `env`. */
  readonly otherVars: readonly string[];
  /** The project's rules for files that are modules. */
  readonly rules: readonly ModuleRule[];
  readonly build: ProjectBuild | undefined;
  /** The expressions that replace names in the code. */
  readonly define: Readonly<Record<string, string>>;
  /** The modules, or files relative to the configuration, that replace modules. */
  readonly alias: Readonly<Record<string, string>>;
  /** The members of `env` that keep data, by their names. */
  readonly members: Readonly<Record<string, MemberCall>>;
  readonly services: Readonly<Record<string, OwnService>>;
  /** The services of other workers, which are also among the missing members. */
  readonly otherServices: Readonly<Record<string, OwnService>>;
  readonly crons: readonly string[];
  /** The section of static assets, or undefined if there is none. */
  readonly assets: Products['assets'];
  /** The list `secrets.required`, or undefined if the file has no section `secrets`. */
  readonly requiredSecrets: readonly string[] | undefined;
  /** The address and port at which a development server listens. */
  readonly dev: { readonly ip?: string | undefined; readonly port?: number | undefined };
  /** The members of `env` that this package lacks. */
  readonly missing: readonly MissingMember[];
  /** Warnings that name settings without an effect. */
  readonly warnings: readonly string[];
}

const JSON_OPTIONS = { allowTrailingComma: true };

type Path = readonly (string | number)[];

const Names = v.optional(v.array(v.string()), []);

const Migration = v.object({
  tag: v.optional(v.string()),
  new_sqlite_classes: Names,
  new_classes: Names,
  renamed_classes: v.optional(v.array(v.object({ from: v.string(), to: v.string() })), []),
  deleted_classes: Names,
});

/** A class or an entry point that is declared in `exports` instead of in migrations. */
const Export = v.object({
  type: v.string(),
  state: v.optional(v.string(), 'created'),
  storage: v.optional(v.picklist(['sqlite', 'legacy-kv']), 'sqlite'),
});

const Binding = v.object({
  name: v.string(),
  class_name: v.string(),
  script_name: v.optional(v.string()),
});

const Rule = v.object({
  type: v.picklist(['Text', 'Data', 'CompiledWasm', 'ESModule', 'CommonJS']),
  globs: v.array(v.string()),
  fallthrough: v.optional(v.boolean()),
});

/** The project's own build command, which runs before the worker is bundled. */
const Build = v.object({
  command: v.optional(v.string()),
  cwd: v.optional(v.string()),
  watch_dir: v.optional(v.union([v.string(), v.array(v.string())]), './src'),
});

const Texts = v.record(v.string(), v.string());

const CompatibilityDate = v.pipe(
  v.string(),
  v.check(
    isDate,
    ({ input }) => `Expected a date such as 2026-07-01 but received ${JSON.stringify(input)}`,
  ),
);

const Port = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(65_535));

const WranglerFile = v.object({
  name: v.optional(v.string()),
  main: v.optional(v.string()),
  compatibility_date: v.optional(CompatibilityDate),
  compatibility_flags: Names,
  vars: v.optional(v.pipe(Section, v.record(v.string(), v.unknown())), {}),
  durable_objects: v.optional(
    v.pipe(Section, v.object({ bindings: v.optional(v.array(Binding), []) })),
    {},
  ),
  migrations: v.optional(v.array(Migration), []),
  exports: v.optional(v.pipe(Section, v.record(v.string(), Export)), {}),
  rules: v.optional(v.array(Rule), []),
  build: v.optional(v.pipe(Section, Build)),
  define: v.optional(v.pipe(Section, Texts), {}),
  alias: v.optional(v.pipe(Section, Texts), {}),
  secrets: v.optional(v.pipe(Section, v.object({ required: Names }))),
  dev: v.optional(
    v.pipe(Section, v.object({ ip: v.optional(v.string()), port: v.optional(Port) })),
    {},
  ),
  ...PRODUCT_SECTIONS,
});

type WranglerFile = v.InferOutput<typeof WranglerFile>;

/**
 * Parses a wrangler file. `varNames` are the names of the variables that a page may have, or 'all'. `environment` is a
 * name in the section `env`. `unused` are the paths of settings that the caller does not use.
 *
 * @throws Error that names the file, the invalid entry and, in JSON, the line
 */
export function parseWranglerConfig(
  text: string,
  path: string,
  varNames: readonly string[] | 'all' = [],
  environment?: string,
  unused: readonly string[] = [],
): ObjectsConfig {
  const isToml = path.endsWith('.toml');
  const tree = isToml ? undefined : parseJson(text, path);
  const whole = isToml ? parseTomlFile(text, path) : (parse(text, [], JSON_OPTIONS) as Fields);
  const { fields: chosen, warnings } = environmentIn(whole, environment, path);
  const errorAt = (at: Path, message: string) => {
    const place =
      tree && chosen === whole ? `:${lineAndColumn(text, offsetOfEntry(tree, at))}` : '';
    return new Error(`${path}${place}: ${message}`);
  };
  const result = v.safeParse(WranglerFile, chosen, { abortEarly: true });
  if (!result.success) {
    const [issue] = result.issues;
    const at = issue.path?.map(({ key }) => key as string | number) ?? [];
    throw errorAt(at, `${at.join('.') || 'the file'}: ${issue.message}.`);
  }
  const file = result.output;
  const allSections = { ...chosen, ...file };
  for (const [index, database] of file.d1_databases.entries()) {
    const { migrations_dir: folder, migrations_pattern: pattern } = database;
    try {
      migrationPlace(folder, pattern);
    } catch (error) {
      const at = ['d1_databases', index, 'migrations_pattern'];
      throw errorAt(at, `${at.join('.')}: ${(error as Error).message}`);
    }
  }
  const repeated = repeatedName(allSections);
  if (repeated !== undefined) {
    const { name, first, second } = repeated;
    throw errorAt(
      second,
      `${second.join('.')} gives env.${name}, as ${first.join('.')} does; give one of them another name.`,
    );
  }
  const storage = storageOf(file);
  const bindings: Record<string, string> = {};
  for (const [index, binding] of file.durable_objects.bindings.entries()) {
    const { name, class_name: className, script_name: scriptName } = binding;
    if (scriptName !== undefined && scriptName !== file.name) {
      throw errorAt(
        ['durable_objects', 'bindings', index, 'script_name'],
        `binding ${name} names a class of another script, "${scriptName}"; only classes of this ` +
          'script can be hosted. Export the class from "main" and remove "script_name".',
      );
    }
    bindings[name] = className;
    // A class that no migration names is new, and new classes use SQLite.
    if (!storage.has(className)) storage.set(className, 'sql');
  }
  const names = varNames === 'all' ? Object.keys(file.vars) : varNames;
  const unknownName = names.find((name) => !Object.hasOwn(file.vars, name));
  if (unknownName !== undefined) {
    throw errorAt(
      ['vars'],
      `the option vars of ctxStorage() names ${unknownName}, which is no variable here.`,
    );
  }
  const vars = Object.entries(file.vars);
  const missing = missingMembers(allSections, file.name);
  const notUsed = unused.filter((setting) => hasSetting(chosen, setting));
  const named = new Set(missing.map(({ section }) => section).filter((name) => !(name in file)));
  return {
    scriptName: file.name,
    main: file.main,
    classes: [...storage].map(([name, kind]) => ({ name, storage: kind })),
    bindings,
    compatibilityDate: file.compatibility_date,
    compatibilityFlags: file.compatibility_flags,
    nodeApis: nodeApis(file.compatibility_date ?? '', file.compatibility_flags),
    vars: Object.fromEntries(vars.filter(([name]) => names.includes(name))),
    otherVars: Object.keys(file.vars).filter((name) => !names.includes(name)),
    rules: file.rules.filter(isFileRule),
    build: buildOf(file.build),
    define: file.define,
    alias: file.alias,
    members: memberCalls(file),
    services: servicesTo(file, (service) => service === file.name),
    otherServices: servicesTo(file, (service) => service !== file.name),
    crons: file.triggers.crons,
    assets: file.assets,
    requiredSecrets: file.secrets?.required,
    dev: file.dev,
    missing,
    warnings: [
      ...warnings,
      ...unreadSettings(chosen, file, [...notUsed, ...scriptRuleNames(file)], named),
    ],
  };
}

/** Returns the path of the main module. `way` tells what to do if there is none. @throws Error that names the file */
export function mainOf({ main }: ObjectsConfig, path: string, way: string): string {
  if (main !== undefined) return main;
  throw new Error(
    `${path}: "main" is missing; name the module that exports the classes. If it has none, ${way}`,
  );
}

/** Returns whether a text is a date, by the check of workerd. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(text);
  return !Number.isNaN(date.valueOf()) && date.toISOString().startsWith(text); // refuses February 31
}

type Fields = Readonly<Record<string, unknown>>;

function parseTomlFile(text: string, path: string): Fields {
  try {
    return parseToml(text) as Fields;
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [fact] = error.message.split('\n');
    throw new Error(`${path}:${error.line}:${error.column}: not TOML: ${fact}`, { cause: error });
  }
}

function buildOf(build: WranglerFile['build']): ProjectBuild | undefined {
  if (build?.command === undefined) return undefined;
  const { command, cwd = '.', watch_dir: watched } = build;
  return { command, folder: cwd, watched: [watched].flat() };
}

// Rules for JavaScript modules are left out, because Vite handles these itself.
function isFileRule(rule: v.InferOutput<typeof Rule>): rule is ModuleRule & typeof rule {
  return rule.type !== 'ESModule' && rule.type !== 'CommonJS';
}

/** Returns texts for warnings about rules of types that have no effect. */
function scriptRuleNames({ rules }: WranglerFile): string[] {
  return rules.filter((rule) => !isFileRule(rule)).map(({ type }) => `rules of the type ${type}`);
}

function parseJson(text: string, path: string): Node {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, JSON_OPTIONS);
  const [first] = errors;
  if (first !== undefined) {
    throw new Error(
      `${path}:${lineAndColumn(text, first.offset)}: not JSON: ${printParseErrorCode(first.error)}.`,
    );
  }
  if (tree?.type !== 'object') throw new Error(`${path}: the file must contain a JSON object.`);
  return tree;
}

/** Returns the offset of an entry in the text, or of the closest existing entry around it. */
function offsetOfEntry(tree: Node, at: Path): number {
  for (let length = at.length; length > 0; length--) {
    const node = findNodeAtLocation(tree, at.slice(0, length));
    if (node !== undefined) return node.offset;
  }
  return tree.offset;
}

/** Returns the line and column of an offset, both counted from 1. */
function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return `${before.length}:${before.at(-1)!.length + 1}`;
}

/**
 * Returns the storage of each class that is declared in `exports`, or exists after all migrations were applied in
 * order.
 */
function storageOf({ migrations, exports }: WranglerFile): Map<string, 'sql' | 'kv'> {
  const storage = new Map<string, 'sql' | 'kv'>();
  for (const migration of migrations) {
    for (const name of migration.new_sqlite_classes) storage.set(name, 'sql');
    for (const name of migration.new_classes) storage.set(name, 'kv');
    for (const { from, to } of migration.renamed_classes) {
      const kind = storage.get(from) ?? 'sql';
      storage.delete(from);
      storage.set(to, kind);
    }
    for (const name of migration.deleted_classes) storage.delete(name);
  }
  for (const [name, { type, state, storage: kind }] of Object.entries(exports)) {
    const isLive = state === 'created' || state === 'expecting-transfer';
    if (type === 'durable-object' && isLive) storage.set(name, kind === 'sqlite' ? 'sql' : 'kv');
  }
  return storage;
}
