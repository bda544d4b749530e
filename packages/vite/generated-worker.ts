// Writes the worker of a project's classes, and the module that starts it, as files. It writes them again when the
// configuration changes.
//
// Invariant: the files are complete, and made from a valid configuration. A file that would not change is not written.

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
  /** True if the package `unenv`, which has Node's globals, is installed. */
  readonly hasUnenv: boolean;
  readonly #folder: string;
  readonly #library: string;
  readonly #varNames: readonly string[];
  readonly #environment: string | undefined;
  readonly #history: HistoryLimits | undefined;

  /**
   * `library` is the module from which the worker imports `serve`; `varNames` are the names of the variables in `env`.
   */
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
    writeIfChanged(join(this.#folder, GLOBALS_FILE), NODE_GLOBALS_MODULE);
    const hasGlobals = this.hasUnenv && config.nodeApis === 'all';
    const globals = hasGlobals ? `./${GLOBALS_FILE}` : undefined;
    const env = envModule(config, paths, this.#history, globals);
    writeIfChanged(join(this.#folder, ENV_FILE), env);
    writeIfChanged(this.workerPath, workerModule(config, paths));
    writeIfChanged(this.startPath, startModule(WORKER_FILE));
    return config;
  }
}

/** The settings of wrangler files that are not used: Vite has its own, or no page can have them. */
const UNUSED_SETTINGS = ['alias', 'assets', 'build', 'define', 'dev', 'secrets'];

/** Reads the wrangler file. @throws Error that names the file and the mistake */
export function readConfig(
  path: string,
  varNames: readonly string[],
  environment: string | undefined,
): ObjectsConfig {
  return parseWranglerConfig(
    readFileSync(path, 'utf8'),
    path,
    varNames,
    environment,
    UNUSED_SETTINGS,
  );
}

function specifier(from: string, to: string): string {
  const path = relative(from, to).replaceAll('\\', '/');
  return path.startsWith('.') ? path : `./${path}`;
}

// An unchanged file is not written, because Vite would reload the pages.
function writeIfChanged(path: string, text: string): void {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}
