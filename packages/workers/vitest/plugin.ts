// Implements `ctx-storage/vitest`, a plugin for Vitest that runs tests of Workers which import `cloudflare:test`,
// without workerd.
//
// For each test file, a generated setup starts a host in memory with the Worker of the configuration.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { statementsIn } from '@ctx-storage/core/contract';
import type { Variables } from '@ctx-storage/vite/project';
import {
  environmentOf,
  flagsOf,
  HERE,
  kindsBy,
  makerImports,
  moduleRules,
  type ObjectsConfig,
  optionLines,
  parseWranglerConfig,
  platformModules,
  populatesProcessEnv,
  processVariables,
  readMigrations,
  secretsIn,
} from '@ctx-storage/vite/project';
import type { Plugin } from 'vite';
import {
  type AuxiliaryWorker,
  type MiniflareOptions,
  mustBeKnown,
  servicesOf,
  withMiniflare,
} from './miniflare-options.ts';
import { PackagesOfWorkers } from './worker-packages.ts';

const CONFIG_NAMES = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml'];
const RUNTIME = 'ctx-storage/cloudflare-test';
const FOLDER = 'node_modules/.ctx-storage';

export interface CloudflareTestOptions {
  readonly wrangler?: {
    /** The path of the wrangler file, relative to Vite's root. @default wrangler.jsonc, .json or .toml there */
    readonly configPath?: string;
    /** The name of an environment of the file. @default CLOUDFLARE_ENV; if it is not set, the top of the file */
    readonly environment?: string;
  };
  /** Options of miniflare that add to the wrangler file. */
  readonly miniflare?: MiniflareOptions;
  /** This option has no effect, because no binding is remote here. */
  readonly remoteBindings?: boolean;
  /** This option has no effect, because the exports of the main module are known here. */
  readonly additionalExports?: Readonly<Record<string, string>>;
  /**
   * The path of the main module, relative to Vite's root.
   *
   * @default "main" of the wrangler file; if there is none, there are only tests
   */
  readonly main?: string;
  /**
   * A module whose default export has members of `env`. They replace members of the configuration, or members of
   * products that do not exist here.
   */
  readonly doubles?: string;
}

/** The options, or a function that returns them when Vitest starts. */
export type GivenOptions =
  | CloudflareTestOptions
  | ((context: TestContext) => CloudflareTestOptions | Promise<CloudflareTestOptions>);

/** The argument of a function that returns options. */
export interface TestContext {
  /** Always throws, because options are read before a global setup runs. @throws Error */
  inject(name: string): never;
}

const CONTEXT: TestContext = {
  inject(name) {
    throw new Error(
      `cloudflareTest: inject(${JSON.stringify(name)}) does not exist here: options are read before a global setup runs. ` +
        'Use inject() of vitest in the tests.',
    );
  },
};

const KNOWN_OPTIONS = new Set<string>([
  'wrangler',
  'miniflare',
  'remoteBindings',
  'additionalExports',
  'main',
  'doubles',
] satisfies (keyof CloudflareTestOptions)[]);

/**
 * Returns the plugins for `plugins` of a Vitest configuration. A mistake in the configuration fails the start, with the
 * name of the file.
 */
export function cloudflareTest(given: GivenOptions = {}): Plugin[] {
  let kindOf = kindsBy([], '');
  // Modules are resolved from the root for every importer, so that the Worker, its packages and the tests share one
  // module.
  let importer: string;
  const runner: Plugin = {
    name: 'ctx-storage:vitest',
    enforce: 'pre',
    async config(user) {
      const root = resolve(user.root ?? '');
      const options = typeof given === 'function' ? await given(CONTEXT) : given;
      mustBeKnown(options, KNOWN_OPTIONS);
      const test = testOptions(user);
      const own = [test.setupFiles ?? []].flat();
      const paths = own.map((path) => resolve(root, path));
      const { setup, rules, folder, secrets } = writeSetup(root, options, paths);
      kindOf = kindsBy(rules, folder);
      // The setup runs before the project's own setup files, which may use `env`. If the hook returned it, Vitest would
      // append it after them.
      test.setupFiles = [setup, ...own];
      return {
        ssr: { resolve: { conditions: ['workerd', 'worker', HERE] } },
        test: {
          sequence: { setupFiles: 'list' },
          provide: { [basename(setup)]: secrets },
          server: { deps: { inline: [/\.ctx-storage\/setup-/, new PackagesOfWorkers()] } },
        },
      } as object;
    },
    configResolved(config) {
      importer = join(config.root, 'index.html');
    },
    resolveId(id) {
      return id === 'cloudflare:test' ? this.resolve(RUNTIME, importer, { skipSelf: true }) : null;
    },
  };
  return [
    runner,
    platformModules('ctx-storage/worker', () => importer),
    moduleRules((path) => kindOf(path)),
  ];
}

/** Returns the test options of Vitest's configuration, which the plugin changes in place. */
function testOptions(config: object): { setupFiles?: string | string[] } {
  const options = config as { test?: { setupFiles?: string | string[] } };
  options.test ??= {};
  return options.test;
}

interface Written extends Pick<ObjectsConfig, 'rules'> {
  /** The path of the generated module that prepares each test file. */
  readonly setup: string;
  /** The folder that has the app's wrangler file. */
  readonly folder: string;
  readonly secrets: Variables;
}

/**
 * Settings of wrangler files that have no effect in tests: they concern the bundle, the server, or files that a test
 * reads itself.
 */
const UNUSED = [
  'alias',
  'assets',
  'build',
  'd1_databases.migrations_dir',
  'd1_databases.migrations_pattern',
  'd1_databases.migrations_table',
  'define',
  'dev',
];

function writeSetup(
  root: string,
  options: CloudflareTestOptions,
  setupFiles: readonly string[],
): Written {
  const { configPath, environment } = options.wrangler ?? {};
  const { miniflare = {} } = options;
  const path = configOf(root, configPath);
  const text = readFileSync(path, 'utf8');
  const process = processVariables(root, environment);
  const read = parseWranglerConfig(text, path, 'all', environmentOf(environment, process), UNUSED);
  const config = withMiniflare(read, miniflare);
  const folder = dirname(path);
  const { secrets, warnings } = secretsIn({ folder, environment, process }, config);
  for (const warning of [...config.warnings, ...warnings, ...missingMembers(config, options)]) {
    console.warn(`${path}: ${warning}`);
  }
  const main =
    options.main === undefined
      ? config.main && resolve(folder, config.main)
      : resolve(root, options.main);
  if (main !== undefined && !existsSync(main))
    throw new Error(`${path}: the main module ${main} is missing.`);
  const doubles = options.doubles && resolve(root, options.doubles);
  mkdirSync(join(root, FOLDER), { recursive: true });
  const setup = join(root, FOLDER, setupName(path, options, setupFiles));
  const workers = (miniflare.workers ?? []).map((worker) => ({
    ...worker,
    scriptPath: resolve(root, worker.scriptPath),
  }));
  const given = miniflare.bindings ?? {};
  const provided = basename(setup);
  const additions = { main, doubles, workers, provided, given, setupFiles };
  writeFileSync(setup, setupModule(config, additions));
  return { setup, rules: config.rules, folder, secrets };
}

/** Returns warnings that name the members of `env` whose use fails. */
function missingMembers({ missing }: ObjectsConfig, { doubles }: CloudflareTestOptions): string[] {
  if (missing.length === 0 || doubles !== undefined) return [];
  const names = missing.map(({ name, section }) => `${name} (${section})`).join(', ');
  return [
    `${names}: not here, so tests that use it fail; give it by the module of the option doubles.`,
  ];
}

/**
 * Returns the name of the generated setup. Projects of one root differ in the wrangler file or in the options, and
 * their setups must not overwrite each other.
 */
function setupName(
  path: string,
  options: CloudflareTestOptions,
  setupFiles: readonly string[],
): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([path, options, setupFiles]))
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

/** The paths of the modules, and the values of `env`, that the setup has in addition to the wrangler file. */
interface Additions {
  readonly main: string | undefined;
  readonly doubles: string | undefined;
  readonly workers: readonly AuxiliaryWorker[];
  /**
   * The key with which the setup gets the secrets from Vitest's `inject()`. The generated module does not contain the
   * secrets, because its folder may be cached and shared.
   */
  readonly provided: string;
  /** The paths of the project's setup files. */
  readonly setupFiles: readonly string[];
  /** Values that replace variables and secrets. */
  readonly given: Readonly<Record<string, unknown>>;
}

/**
 * Generates the setup. It imports the modules after `prepare`, because they read `env` while they are evaluated. If the
 * test file has mocks, the setup imports the modules after the test file.
 */
function setupModule(config: ObjectsConfig, additions: Additions): string {
  const { main, doubles, workers, provided, given, setupFiles } = additions;
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
    "import { afterAll, beforeAll, expect, inject } from 'vitest';",
    `import host from ${JSON.stringify(RUNTIME)};`,
    ...makerImports(config, 'ctx-storage/bindings'),
    '',
    `const options = ${JSON.stringify(options, null, 2)};`,
    'host.prepare({',
    `  classes: ${JSON.stringify(config.classes)},`,
    `  missing: ${JSON.stringify(missing)},`,
    `  populatesProcessEnv: ${populatesProcessEnv(config.compatibilityDate ?? '', config.compatibilityFlags)},`,
    '  options: {',
    '  ...options,',
    ...optionLines(config),
    `  env: { ...options.env, ...inject(${JSON.stringify(provided)}), ...${JSON.stringify(given)} },`,
    '  },',
    '});',
    ...(doubles === undefined ? [] : [`host.replace((${moduleAt(doubles)}).default ?? {});`]),
    'const start = async () => host.start({',
    `  main: ${moduleAt(main)},`,
    '  workers: {',
    ...workers.map(workerLine),
    '  },',
    '});',
    // The mocks of the test file are registered when the file is imported.
    `if (host.isMocked(${JSON.stringify(setupFiles)}, expect.getState().testPath)) {`,
    '  await host.startBindings();',
    '  beforeAll(start);',
    '} else {',
    '  await start();',
    '  beforeAll(() => host.mustHaveNoMocks());',
    '}',
    'afterAll(() => host.end());',
    '',
  ].join('\n');
}

function moduleAt(path: string | undefined): string {
  return path === undefined ? '{}' : `await import(${JSON.stringify(path)})`;
}

function workerLine({ name, scriptPath, bindings = {}, serviceBindings }: AuxiliaryWorker): string {
  const options = { env: bindings, services: servicesOf(serviceBindings) };
  const text = JSON.stringify(options);
  return `    ${JSON.stringify(name)}: { exports: ${moduleAt(scriptPath)}, ...${text} },`;
}

/**
 * Reads the migrations in a folder, for `applyD1Migrations`, in the order of the numbers of their files. `pattern`
 * selects files in the folder, like `migrations_pattern` of the wrangler file without the folder.
 *
 * @throws Error of the system
 */
export async function readD1Migrations(
  folder: string,
  pattern = '*.sql',
): Promise<{ name: string; queries: string[] }[]> {
  const files = readMigrations(folder, pattern);
  return Object.entries(files).map(([name, text]) => ({ name, queries: statementsIn(text) }));
}
