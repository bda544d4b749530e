// Generates the modules of a project: the worker that serves its classes, the module that fills `env` before the
// classes are evaluated, and the function with which a page starts the worker.
//
// Invariant: everything from a configuration or a path appears in the modules as a JSON string, never as code.

import type { HistoryLimits } from '@ctx-storage/core/storage';
import type { MigrationPlace } from './migration-files.ts';
import { populatesProcessEnv, processEnvOf } from './node-apis.ts';
import type { ObjectsConfig } from './wrangler-config.ts';

/** The specifiers that the generated modules import. */
export interface ModulePaths {
  /** The specifier of `ctx-storage/worker`. */
  readonly library: string;
  /** The specifier of `ctx-storage/bindings`. */
  readonly bindings: string;
  /** The module that fills `env`. */
  readonly env: string;
  /** The module that exports the classes. */
  readonly main: string;
  /** Returns the path of a folder of migrations, which the configuration names. */
  folderOf(folder: string): string;
  /** The name of the main module in messages; `configName` is that of the configuration. */
  readonly mainName: string;
  readonly configName: string;
}

/**
 * Generates the module that imports `globals`, fills `env` and exports the options of `serve`. It makes the members of
 * `env` before modules that read them are evaluated.
 */
export function envModule(
  config: ObjectsConfig,
  paths: Pick<ModulePaths, 'library' | 'bindings' | 'folderOf'>,
  history: HistoryLimits | undefined,
  globals: string | undefined,
): string {
  const options = {
    bindings: config.bindings,
    scriptName: config.scriptName,
    compatibilityDate: config.compatibilityDate,
    ...flagsOf(config),
    env: config.vars,
    history: history && { ...history, bytes: finiteBytes(history.bytes) },
  };
  return [
    // The library is imported before Node's globals, because it looks for them when it is evaluated.
    `import { provideEnv } from ${JSON.stringify(paths.library)};`,
    ...(globals === undefined ? [] : [`import ${JSON.stringify(globals)};`]),
    ...makerImports(config, paths.bindings),
    '',
    'function named(texts, start) {',
    '  return Object.fromEntries(Object.entries(texts).map(([path, sql]) => [path.slice(start), sql]));',
    '}',
    '',
    `const options = ${JSON.stringify(options, null, 2)};`,
    'export const served = {',
    '  ...options,',
    ...optionLines(config, (dir) => paths.folderOf(dir)),
    '};',
    'provideEnv(options.env, served);',
    ASSIGNABLE_CACHES,
    ...(globals === undefined || !populatesEnv(config) ? [] : [processEnvLine(config.vars)]),
    '',
  ].join('\n');
}

/** The code that makes `caches` assignable, as on workerd. In a browser, `caches` has only a getter. */
const ASSIGNABLE_CACHES = `Object.defineProperty(globalThis, 'caches', {
  configurable: true,
  get: () => Reflect.get(Object.getPrototypeOf(globalThis), 'caches', globalThis),
  set: (value) => Object.defineProperty(globalThis, 'caches', { value, configurable: true, writable: true }),
});`;

function populatesEnv({ compatibilityDate = '', compatibilityFlags }: ObjectsConfig): boolean {
  return populatesProcessEnv(compatibilityDate, compatibilityFlags);
}

function processEnvLine(vars: object): string {
  return `Object.assign(globalThis.process.env, ${JSON.stringify(processEnvOf(vars))});`;
}

/** Returns the option `compatibilityFlags`, or nothing if there are no flags. */
export function flagsOf({ compatibilityFlags }: ObjectsConfig): {
  compatibilityFlags?: readonly string[];
} {
  return compatibilityFlags.length === 0 ? {} : { compatibilityFlags };
}

/** Replaces Infinity, which JSON lacks, by the largest number. */
function finiteBytes(bytes: number | undefined): number | undefined {
  return bytes && Math.min(bytes, Number.MAX_VALUE);
}

/** Generates the worker. If `main` does not export a class, the worker's start fails with the name of the class. */
export function workerModule(config: ObjectsConfig, paths: ModulePaths): string {
  const classes = config.classes.map(({ name, storage }) => {
    const text = JSON.stringify(name);
    return `  ${text}: { class: exported(${text}), storage: ${JSON.stringify(storage)} },`;
  });
  const missing =
    ` is a class of ${paths.configName}, and ${paths.mainName} exports nothing of that name; ` +
    'export the class.';
  return [
    // This module is imported first, and so evaluated first, because the modules of `main` read `env`.
    `import { served } from ${JSON.stringify(paths.env)};`,
    `import { serve } from ${JSON.stringify(paths.library)};`,
    `import * as main from ${JSON.stringify(paths.main)};`,
    '',
    'function exported(name) {',
    '  if (name in main) return main[name];',
    `  throw new TypeError(name + ${JSON.stringify(missing)});`,
    '}',
    '',
    'serve({',
    ...classes,
    '}, {',
    '  ...served,',
    '  exports: main,',
    '});',
    '',
  ].join('\n');
}

/** Generates the import of the functions that make members of `env`. Only those of used products are bundled. */
export function makerImports({ members, crons }: ObjectsConfig, bindings: string): string[] {
  const used = Object.values(members).map(({ make }) => make as string);
  const names = [...new Set(crons.length > 0 ? [...used, 'cronTriggers'] : used)].sort();
  return names.length === 0
    ? []
    : [`import { ${names.join(', ')} } from ${JSON.stringify(bindings)};`];
}

/**
 * Generates the lines of `serve`'s options for members of `env`, services and crons. `folderOf` returns the folder of
 * migrations, which Vite reads; without it, migrations are left out.
 */
export function optionLines(
  { members, services, crons }: ObjectsConfig,
  folderOf?: (folder: string) => string,
): string[] {
  const made = Object.entries(members).map(([name, { make, options, migrations }]) => {
    const given = JSON.stringify(options);
    const texts = migrations && folderOf && globCall(folderOf(migrations.folder), migrations);
    const whole = texts ? `{ ...${given}, migrations: ${texts} }` : given;
    return `    ${JSON.stringify(name)}: ${make}(${whole}),`;
  });
  return [
    ...(made.length === 0 ? [] : ['  bindings: {', '    ...options.bindings,', ...made, '  },']),
    ...(Object.keys(services).length === 0 ? [] : [`  services: ${JSON.stringify(services)},`]),
    ...(crons.length === 0 ? [] : [`  crons: cronTriggers(${JSON.stringify(crons)}),`]),
  ];
}

/** Generates the call that Vite replaces by the SQL files of a folder. Vite does it again when a file is added. */
function globCall(folder: string, { pattern }: MigrationPlace): string {
  const files = JSON.stringify(`${folder}/${pattern}`);
  const texts = `import.meta.glob(${files}, { query: '?raw', import: 'default', eager: true })`;
  return `named(${texts}, ${folder.length + 1})`;
}

/** Generates the function that starts the worker, in the form that bundlers recognise. */
export function startModule(workerFile: string): string {
  return [
    'export default function startObjects() {',
    `  return new Worker(new URL(${JSON.stringify(`./${workerFile}`)}, import.meta.url), { type: 'module' });`,
    '}',
    '',
  ].join('\n');
}
