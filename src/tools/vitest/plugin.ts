// `ctx-storage/vitest`: a plugin with which tests of Workers that import `cloudflare:test` run in Vitest without workerd.
//
// For each test file, a generated setup starts a host in memory with the Worker of the configuration.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Plugin } from 'vite';
import { devVarsFile } from '../vite/dev-vars.ts';
import { kindsBy, moduleRules } from '../vite/module-rules.ts';
import { flagsOf, makerImports, optionLines } from '../vite/worker-module.ts';
import { type ObjectsConfig, parseWranglerConfig } from '../vite/wrangler-config.ts';
import {
  type AuxiliaryWorker,
  type MiniflareOptions,
  servicesOf,
  withMiniflare,
} from './miniflare-options.ts';

const CONFIG_NAMES = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml'];
const RUNTIME = 'ctx-storage/cloudflare-test';
const FOLDER = 'node_modules/.ctx-storage';

export interface CloudflareTestOptions {
  readonly wrangler?: {
    /** The wrangler file, from Vite's root. @default wrangler.jsonc, .json or .toml there */
    readonly configPath?: string;
    /** One of its environments. */
    readonly environment?: string;
  };
  /** More of what the wrangler file says, as options of miniflare. */
  readonly miniflare?: MiniflareOptions;
  /** Accepted: nothing is remote here. */
  readonly remoteBindings?: boolean;
  /** Accepted: the exports of the main module are known here. */
  readonly additionalExports?: Readonly<Record<string, string>>;
  /** The main module, from Vite's root. @default "main" of the wrangler file; none: there are only tests */
  readonly main?: string;
  /**
   * A module whose default export has members of `env`, in place of those of the configuration, or of products that do not
   * exist here.
   */
  readonly doubles?: string;
}

/** For `plugins` of a Vitest configuration. @throws Error that names the file and the mistake */
export function cloudflareTest(options: CloudflareTestOptions = {}): Plugin[] {
  let kindOf = kindsBy([], '');
  const runner: Plugin = {
    name: 'ctx-storage:vitest',
    enforce: 'pre',
    config(user) {
      const root = resolve(user.root ?? '');
      const { setup, rules, folder } = writeSetup(root, options);
      kindOf = kindsBy(rules, folder);
      const test = testOptions(user);
      // Before the project's own, which may use `env`. Returned, it would come after them.
      test.setupFiles = [setup, ...[test.setupFiles ?? []].flat()];
      return {
        test: {
          sequence: { setupFiles: 'list' },
          server: { deps: { inline: [/\.ctx-storage\/setup-/] } },
        },
      } as object;
    },
    resolveId(id, importer) {
      const replaced = REPLACED.get(id);
      return replaced === undefined ? null : this.resolve(replaced, importer, { skipSelf: true });
    },
  };
  return [runner, moduleRules((path) => kindOf(path))];
}

const REPLACED: ReadonlyMap<string, string> = new Map([
  ['cloudflare:test', RUNTIME],
  ['cloudflare:workers', 'ctx-storage/worker'],
]);

/** The part of Vitest's options that is changed in place. */
function testOptions(config: object): { setupFiles?: string | string[] } {
  const options = config as { test?: { setupFiles?: string | string[] } };
  options.test ??= {};
  return options.test;
}

interface Written extends Pick<ObjectsConfig, 'rules'> {
  /** The module that prepares each test file. */
  readonly setup: string;
  /** Of the configuration. */
  readonly folder: string;
}

function writeSetup(root: string, options: CloudflareTestOptions): Written {
  const { configPath, environment } = options.wrangler ?? {};
  const { miniflare = {} } = options;
  const path = configOf(root, configPath);
  const read = parseWranglerConfig(readFileSync(path, 'utf8'), path, 'all', environment);
  const config = withMiniflare(read, miniflare);
  const folder = dirname(path);
  const main =
    options.main === undefined
      ? config.main && resolve(folder, config.main)
      : resolve(root, options.main);
  if (main !== undefined && !existsSync(main))
    throw new Error(`${path}: the main module ${main} is missing.`);
  const doubles = options.doubles && resolve(root, options.doubles);
  mkdirSync(join(root, FOLDER), { recursive: true });
  const setup = join(root, FOLDER, setupName(path, options));
  const workers = (miniflare.workers ?? []).map((worker) => ({
    ...worker,
    scriptPath: resolve(root, worker.scriptPath),
  }));
  const secrets = devVarsFile(folder, environment);
  const given = miniflare.bindings ?? {};
  writeFileSync(setup, setupModule(config, { main, doubles, workers, secrets, given }));
  return { setup, rules: config.rules, folder };
}

/** Projects of one root differ in the file or in the options; their modules must not replace each other. */
function setupName(path: string, options: CloudflareTestOptions): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([path, options]))
    .digest('hex');
  return `setup-${basename(path).replaceAll('.', '-')}-${digest.slice(0, 12)}.mjs`;
}

function configOf(root: string, given: string | undefined): string {
  const names = given === undefined ? CONFIG_NAMES : [given];
  const found = names.map((name) => resolve(root, name)).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new Error(
    given === undefined
      ? `cloudflareTest: there is no ${CONFIG_NAMES.join(', ')} in ${root}; name one as wrangler.configPath.`
      : `cloudflareTest: wrangler.configPath is "${given}", which does not exist in ${root}.`,
  );
}

/** What the setup has beside the configuration: modules by their paths, and more values of `env`. */
interface Additions {
  readonly main: string | undefined;
  readonly doubles: string | undefined;
  readonly workers: readonly AuxiliaryWorker[];
  /** The file of the secrets. */
  readonly secrets: string | undefined;
  /** Values in place of variables and secrets. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** The modules are imported after `prepare`: they read `env` while they are evaluated. */
function setupModule(config: ObjectsConfig, additions: Additions): string {
  const { main, doubles, workers, secrets, given } = additions;
  const options = {
    bindings: config.bindings,
    bindsClassNames: false,
    scriptName: config.scriptName,
    compatibilityDate: config.compatibilityDate,
    ...flagsOf(config),
    env: config.vars,
  };
  const missing = Object.fromEntries(config.missing.map(({ name, section }) => [name, section]));
  return [
    ...(secrets === undefined ? [] : SECRET_IMPORTS),
    "import { afterAll } from 'vitest';",
    `import host from ${JSON.stringify(RUNTIME)};`,
    ...makerImports(config, 'ctx-storage/bindings'),
    '',
    `const options = ${JSON.stringify(options, null, 2)};`,
    'host.prepare({',
    `  classes: ${JSON.stringify(config.classes)},`,
    `  missing: ${JSON.stringify(missing)},`,
    '  options: {',
    '  ...options,',
    ...optionLines(config),
    ...(secrets === undefined ? [] : [secretsLine(secrets, given)]),
    '  },',
    '});',
    'await host.start({',
    `  main: ${moduleAt(main)},`,
    `  doubles: (${moduleAt(doubles)}).default ?? {},`,
    '  workers: {',
    ...workers.map(workerLine),
    '  },',
    '});',
    'afterAll(() => host.end());',
    '',
  ].join('\n');
}

const SECRET_IMPORTS = [
  "import { readFileSync } from 'node:fs';",
  "import { parseEnv } from 'node:util';",
];

/** The module reads the file itself: it lies in a folder that is cached and shared, so it contains no secret. */
function secretsLine(file: string, given: object): string {
  const read = `parseEnv(readFileSync(${JSON.stringify(file)}, 'utf8'))`;
  return `  env: { ...options.env, ...${read}, ...${JSON.stringify(given)} },`;
}

function moduleAt(path: string | undefined): string {
  return path === undefined ? '{}' : `await import(${JSON.stringify(path)})`;
}

function workerLine({ name, scriptPath, bindings = {}, serviceBindings }: AuxiliaryWorker): string {
  const options = { env: bindings, services: servicesOf(serviceBindings) };
  const text = JSON.stringify(options);
  return `    ${JSON.stringify(name)}: { exports: ${moduleAt(scriptPath)}, ...${text} },`;
}

/** The migrations in a folder, for `applyD1Migrations`: each file in the order of its number. @throws Error of the system */
export function readD1Migrations(folder: string): { name: string; queries: string[] }[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const numberOf = (name: string) => Number.parseInt(name, 10) || 0;
  names.sort((a, b) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1));
  return names.map((name) => ({ name, queries: [readFileSync(join(folder, name), 'utf8')] }));
}
