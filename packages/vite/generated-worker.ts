// Writes the worker of a project's classes and its starter as files, and updates them with the
// configuration.
//
// Invariant: files are complete and come from a valid configuration; unchanged files are not rewritten.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { HistoryLimits } from '@ctx-storage/core/storage';
import { NODE_GLOBALS_MODULE } from './node-apis.ts';
import { envModule, startModule, workerModule } from './worker-module.ts';
import { mainOf, type ObjectsConfig, parseWranglerConfig } from './wrangler-config.ts';

const BINDINGS = 'ctx-storage/bindings';
const WORKER_FILE = 'objects.worker.js';
const ENV_FILE = 'objects.env.js';
const GLOBALS_FILE = 'node-globals.js';

export class GeneratedWorker {
  readonly configPath: string;
  readonly workerPath: string;
  readonly startPath: string;
  /** Whether the package of Node's globals is installed. */
  readonly hasUnenv: boolean;
  readonly #folder: string;
  readonly #library: string;
  readonly #varNames: readonly string[];
  readonly #environment: string | undefined;
  readonly #history: HistoryLimits | undefined;

  /** `library` is the module from which the worker imports `serve`; `varNames` are the variables in `env`. */
  constructor(
    configPath: string,
    folder: string,
    library: string,
    varNames: readonly string[],
    environment: string | undefined,
    history: HistoryLimits | undefined,
    hasUnenv: boolean,
  ) {
    this.configPath = configPath;
    this.workerPath = join(folder, WORKER_FILE);
    this.startPath = join(folder, 'start.js');
    this.hasUnenv = hasUnenv;
    this.#folder = folder;
    this.#library = library;
    this.#varNames = varNames;
    this.#environment = environment;
    this.#history = history;
  }

  /** Reads the configuration and writes the files. @throws Error that names the file and the mistake */
  write(): ObjectsConfig {
    const config = readConfig(this.configPath, this.#varNames, this.#environment);
    const mainName = mainOf(config, this.configPath, 'pass config: false to ctxStorage().');
    const main = resolve(dirname(this.configPath), mainName);
    if (!existsSync(main)) {
      throw new Error(`${this.configPath}: "main" names ${main}, which is missing.`);
    }
    mkdirSync(this.#folder, { recursive: true });
    const paths = {
      library: this.#library,
      bindings: BINDINGS,
      env: `./${ENV_FILE}`,
      main: specifier(this.#folder, main),
      folderOf: (dir: string) => specifier(this.#folder, resolve(dirname(this.configPath), dir)),
      mainName,
      configName: basename(this.configPath),
    };
    writeChanged(join(this.#folder, GLOBALS_FILE), NODE_GLOBALS_MODULE);
    const hasGlobals = this.hasUnenv && config.nodeApis === 'all';
    const globals = hasGlobals ? `./${GLOBALS_FILE}` : undefined;
    const env = envModule(config, paths, this.#history, globals);
    writeChanged(join(this.#folder, ENV_FILE), env);
    writeChanged(this.workerPath, workerModule(config, paths));
    writeChanged(this.startPath, startModule(WORKER_FILE));
    return config;
  }
}

/** Settings of wrangler files in place of which Vite has its own, or that no page can have. */
const UNUSED = ['alias', 'assets', 'build', 'define', 'dev', 'secrets'];

/** @throws Error that names the file and the mistake */
export function readConfig(
  path: string,
  varNames: readonly string[],
  environment: string | undefined,
): ObjectsConfig {
  return parseWranglerConfig(readFileSync(path, 'utf8'), path, varNames, environment, UNUSED);
}

function specifier(from: string, to: string): string {
  const path = relative(from, to).replaceAll('\\', '/');
  return path.startsWith('.') ? path : `./${path}`;
}

// Rewriting an unchanged file would reload pages for nothing.
function writeChanged(path: string, text: string): void {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}
