// `ctx-storage/vitest`: a plugin with which tests of Workers that import `cloudflare:test` run in Vitest without workerd.
//
// For each test file, a generated setup starts a host in memory with the Worker of the configuration.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Plugin } from 'vite';
import { makerImports, optionLines } from '../vite/worker-module.ts';
import { type ObjectsConfig, parseWranglerConfig } from '../vite/wrangler-config.ts';

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
  /** The main module, from Vite's root. @default "main" of the wrangler file */
  readonly main?: string;
  /**
   * A module whose default export has members of `env`, in place of those of the configuration, or of products that do not
   * exist here.
   */
  readonly doubles?: string;
}

/** For `plugins` of a Vitest configuration. @throws Error that names the file and the mistake */
export function cloudflareTest(options: CloudflareTestOptions = {}): Plugin {
  return {
    name: 'ctx-storage:vitest',
    enforce: 'pre',
    config(user) {
      const root = resolve(user.root ?? '');
      const setup = writeSetup(root, options);
      return {
        test: { setupFiles: [setup], server: { deps: { inline: [/\.ctx-storage\/setup-/] } } },
      } as object;
    },
    resolveId(id, importer) {
      const replaced = REPLACED.get(id);
      return replaced === undefined ? null : this.resolve(replaced, importer, { skipSelf: true });
    },
  };
}

const REPLACED: ReadonlyMap<string, string> = new Map([
  ['cloudflare:test', RUNTIME],
  ['cloudflare:workers', 'ctx-storage/worker'],
]);

function writeSetup(root: string, options: CloudflareTestOptions): string {
  const { configPath, environment } = options.wrangler ?? {};
  const path = configOf(root, configPath);
  const config = parseWranglerConfig(readFileSync(path, 'utf8'), path, 'all', environment);
  const main =
    options.main === undefined ? resolve(dirname(path), config.main) : resolve(root, options.main);
  if (!existsSync(main)) throw new Error(`${path}: the main module ${main} is missing.`);
  const doubles = options.doubles && resolve(root, options.doubles);
  mkdirSync(join(root, FOLDER), { recursive: true });
  const name = `setup-${basename(path).replaceAll('.', '-')}-${environment ?? 'top'}.mjs`;
  const file = join(root, FOLDER, name);
  writeFileSync(file, setupModule(config, main, doubles || undefined));
  return file;
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

/** The main module is imported after `prepare`: modules read `env` while they are evaluated. */
function setupModule(config: ObjectsConfig, main: string, doubles: string | undefined): string {
  const options = {
    bindings: config.bindings,
    scriptName: config.scriptName,
    compatibilityDate: config.compatibilityDate,
    env: config.vars,
  };
  const missing = Object.fromEntries(config.missing.map(({ name, section }) => [name, section]));
  return [
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
    '  },',
    '});',
    `const main = await import(${JSON.stringify(main)});`,
    doubles === undefined
      ? 'const doubles = {};'
      : `const { default: doubles } = await import(${JSON.stringify(doubles)});`,
    'await host.start({ main, doubles });',
    'afterAll(() => host.end());',
    '',
  ].join('\n');
}

/** The migrations in a folder, for `applyD1Migrations`: each file in the order of its number. @throws Error of the system */
export function readD1Migrations(folder: string): { name: string; queries: string[] }[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  const numberOf = (name: string) => Number.parseInt(name, 10) || 0;
  names.sort((a, b) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1));
  return names.map((name) => ({ name, queries: [readFileSync(join(folder, name), 'utf8')] }));
}
