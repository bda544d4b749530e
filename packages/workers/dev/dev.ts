// Runs the worker of a wrangler file on this machine: it bundles and serves the worker, keeps its data in a folder, and
// starts the worker again after each change of its code.
//
// Invariant: only one app has the folder of the data open at a time. If changed code cannot be built or started,
// requests are answered with the reason until the next change.

import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import {
  environmentOf,
  kindsBy,
  mainOf,
  migrationHint,
  type ObjectsConfig,
  parseWranglerConfig,
  populatesProcessEnv,
  processEnvOf,
  processVariables,
  secretsIn,
} from '@ctx-storage/vite/project';
import {
  appArguments,
  type BindingMakers,
  type ConfiguredEnv,
  configuredEnv,
  type LoadedCode,
  type ProjectParts,
} from './app-options.ts';
import { Assets } from './assets.ts';
import { type Built, bundleCode, mistake } from './bundle-code.ts';
import { CustomBuild } from './custom-build.ts';
import { type DevServer, type RunningApp, serveHttp } from './http-server.ts';
import { replaceProcessEnv } from './process-env.ts';

/** How long requests and their `waitUntil` may go on after the server is stopped. */
const CLOSE_MS = 5000;

const CONFIG_NAMES = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml'];

/** If loading the code takes longer than this, a message is printed. */
const LOAD_REPORT_SECONDS = 10;

/** The parts of this package that host an app in Node. */
export interface DevHost {
  readonly makers: BindingMakers;
  /** Returns the address from which Node imports a module of this package. */
  readonly addressOf: (specifier: string) => string;
  /** The folder of this package's scripts, among which is the inspector's. */
  readonly scripts: string;
  /**
   * Gives Node the globals of workerd, for code that uses them while it is loaded. The returned function takes them
   * back.
   */
  holdGlobals(): () => void;
  /** Sets the `env` that code sees which reads it from `cloudflare:workers` while it is loaded. */
  provideEnv(env: object, names: Omit<ConfiguredEnv, 'env'>): void;
  /** Adds the user's own members to that `env`. */
  provideMore(given: LoadedCode['given']): void;
  start(classes: object, options: object): Promise<RunningApp>;
}

export interface DevOptions {
  /** The wrangler file. @default the one in the current folder */
  readonly config?: string | undefined;
  /** The environment of the wrangler file. @default CLOUDFLARE_ENV, or no environment */
  readonly environment?: string | undefined;
  /** The port of the server. @default the port in the wrangler file, or 8787 */
  readonly port?: number | undefined;
  /** The address at which the server listens. @default the address in the wrangler file, or 127.0.0.1 */
  readonly host?: string | undefined;
  /** The folder in which the data are kept. */
  readonly persist: string;
  /** The module with the user's own members of `env`. */
  readonly bindings?: string | undefined;
  readonly print: (line: string) => void;
}

/**
 * Starts the server. Resolves once the first build runs or has failed.
 *
 * @throws Error that names a mistake in the project
 */
export async function dev(
  options: DevOptions,
  loadHost: () => Promise<DevHost>,
): Promise<DevServer> {
  const path = findConfig(options.config);
  const text = readFileSync(path, 'utf8');
  const environment = environmentOf(options.environment, variablesOf(options));
  const config = parseWranglerConfig(text, path, 'all', environment);
  const folder = dirname(path);
  for (const warning of [...config.warnings, ...migrationHints(config, folder)]) {
    options.print(`${path}: ${warning}\n`);
  }
  const host = await loadHost();
  const isOnlyAssets = config.assets !== undefined && config.classes.length === 0;
  const main = isOnlyAssets ? config.main : mainOf(config, path, 'write one that exports nothing.');
  const releaseGlobals = host.holdGlobals();
  const build = config.build && new CustomBuild(config.build, folder, options.print);
  await build?.run(); // Run the build command first, because it may make the folder of the assets.
  const assets = assetsOf(config, path);
  const app = new App(options, config, { folder, main, assets }, host);
  const stopWatchingBuild = build?.watch();
  const stopBundling = await app.bundleAndWatch();
  const stopAll = async () => {
    stopWatchingBuild?.();
    await stopBundling();
    releaseGlobals();
  };
  try {
    await app.mustHaveStarted();
    const { port = 8787, ip = '127.0.0.1' } = config.dev;
    const server = await serveHttp({
      port: options.port ?? port,
      host: options.host ?? (ip === '*' ? '0.0.0.0' : ip),
      closeMs: CLOSE_MS,
      app: () => app.running(),
      report: (error) => console.error('Uncaught', error),
      scripts: host.scripts,
      assets: config.assets?.run_worker_first === true ? undefined : assets,
    });
    return {
      ...server,
      async close() {
        await server.close();
        await stopAll();
        await app.close();
      },
    };
  } catch (error) {
    await stopAll();
    await app.close();
    throw error;
  }
}

function migrationHints({ members }: ObjectsConfig, folder: string): string[] {
  return Object.entries(members).flatMap(([name, { migrations }]) => {
    if (migrations === undefined) return [];
    const hint = migrationHint(resolve(folder, migrations.folder), migrations.pattern);
    return hint === undefined ? [] : [`${name}: ${hint}`];
  });
}

function findConfig(given: string | undefined): string {
  const names = given === undefined ? CONFIG_NAMES : [given];
  const found = names.find((name) => existsSync(name));
  if (found !== undefined) return resolve(found);
  throw new Error(
    given === undefined
      ? `There is no ${CONFIG_NAMES.join(', ')} in this folder; name one with --config.`
      : `--config is "${given}", which does not exist.`,
  );
}

/** The folder, main module and assets of the project. */
interface Project extends Pick<ProjectParts, 'folder' | 'assets'> {
  /** The path of the main module, or undefined if the project has only assets. */
  readonly main: string | undefined;
}

class App {
  readonly #options: DevOptions;
  readonly #config: ObjectsConfig;
  readonly #project: Project;
  readonly #host: DevHost;
  /** True once the latest code was built and loaded. */
  #isLoaded = false;
  #isFirst = true;
  /** The running app, or the reason why none runs. Each start waits until the app before it has ended. */
  #running: Promise<RunningApp> = Promise.reject(new Error('Nothing has started.'));
  readonly #printed = new Set<string>();
  #restoreProcessEnv = () => {};
  /** Stops waiting for the latest code, whose loading may never end. */
  #loading = new AbortController();

  constructor(options: DevOptions, config: ObjectsConfig, project: Project, host: DevHost) {
    this.#options = options;
    this.#config = config;
    this.#project = project;
    this.#host = host;
    this.#running.catch(() => {});
  }

  /** Returns the app of the latest code once it runs. @throws the reason why none runs */
  async running(): Promise<RunningApp> {
    const asked = this.#running;
    const [result] = await Promise.allSettled([asked]);
    if (asked !== this.#running) return this.running();
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }

  /**
   * Waits until the app runs, if its code was loaded.
   *
   * @throws Error that no change of the code can correct, such as a folder of data that another process has open
   */
  async mustHaveStarted(): Promise<void> {
    if (this.#isLoaded) await this.#running;
  }

  async close(): Promise<void> {
    this.#loading.abort();
    const running = await this.#running.catch(() => undefined);
    await running?.close();
    this.#restoreProcessEnv();
  }

  /** Bundles and starts the code now and after each change, until the returned function is called. */
  async bundleAndWatch(): Promise<() => Promise<void>> {
    const { bindings, persist } = this.#options;
    let first = () => {};
    const hasBuilt = new Promise<void>((resolve) => {
      first = resolve;
    });
    const stopAll = await bundleCode(
      {
        main: this.#project.main && resolve(this.#project.folder, this.#project.main),
        given: bindings && resolve(bindings),
        kindOf: kindsBy(this.#config.rules, this.#project.folder),
        define: this.#config.define,
        alias: aliasIn(this.#project.folder, this.#config.alias),
        folder: join(resolve(persist), 'bundle'),
        addressOf: this.#host.addressOf,
      },
      (built) => void this.#replace(built).then(first),
    );
    await hasBuilt;
    return stopAll;
  }

  async #replace(built: Built): Promise<void> {
    const { print } = this.#options;
    const before = this.#running;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#isLoaded = false;
    this.#loading.abort();
    const { signal } = (this.#loading = new AbortController());
    this.#running = (async () => {
      // The previous app is closed first, so that the folder of the data is free even if the new code fails to load.
      const previous = await before.catch(() => undefined);
      await previous?.close();
      if (built.kind === 'failure') throw mistake(built.message);
      // The variables of this machine decide which files with secrets are read, so they are put back for each build.
      this.#restoreProcessEnv();
      const secrets = this.#secrets();
      const env = configuredEnv(this.#config, this.#host.makers, {
        ...this.#project,
        secrets,
      });
      this.#host.provideEnv(env.env, env);
      this.#showProcessEnv(env);
      const code = await this.#load(built.load, signal);
      this.#isLoaded = true;
      return this.#start(code, env);
    })();
    await this.#running.then(
      () => print('Ready.\n'),
      (error: Error) => {
        // `mustHaveStarted` throws an error of the first start. It ends the program, which prints it.
        const isFatal = isFirst && this.#isLoaded;
        if (!signal.aborted && !isFatal) print(`${error.message}\n`);
      },
    );
  }

  /** Reads the secrets of the project. It prints each problem with them only once. */
  #secrets(): NodeJS.Dict<string> {
    const { environment, print } = this.#options;
    const { folder } = this.#project;
    const place = { folder, environment, process: variablesOf(this.#options) };
    const { secrets, warnings } = secretsIn(place, this.#config);
    for (const warning of warnings) {
      if (!this.#printed.has(warning)) print(`${warning}\n`);
      this.#printed.add(warning);
    }
    return secrets;
  }

  #showProcessEnv({ env }: ConfiguredEnv): void {
    const { compatibilityDate = '', compatibilityFlags } = this.#config;
    const hasValues = populatesProcessEnv(compatibilityDate, compatibilityFlags);
    this.#restoreProcessEnv();
    this.#restoreProcessEnv = replaceProcessEnv(hasValues ? processEnvOf(env) : {});
  }

  async #load(load: (Built & { kind: 'code' })['load'], signal: AbortSignal): Promise<LoadedCode> {
    const abandonedError = () =>
      mistake('The code changed while it was loaded, or the server has ended.');
    if (signal.aborted) throw abandonedError();
    const report =
      `${this.#config.main} is still being loaded after ${LOAD_REPORT_SECONDS} s, so a top-level await has not ended. ` +
      'Requests wait for its end, or for the next change of the code.\n';
    const timer = setTimeout(() => this.#options.print(report), LOAD_REPORT_SECONDS * 1000);
    const abandoned = once(signal, 'abort').then(() => Promise.reject(abandonedError()));
    return Promise.race([load(this.#host.provideMore), abandoned]).finally(() =>
      clearTimeout(timer),
    );
  }

  #start(code: LoadedCode, env: ConfiguredEnv): Promise<RunningApp> {
    const { assets, main } = this.#project;
    const withMain =
      main === undefined ? { ...code, main: { default: { fetch: assets!.fetch } } } : code;
    const { classes, options } = appArguments(this.#config, withMain, this.#host.makers, env);
    const directory = join(resolve(this.#options.persist), 'objects');
    return this.#host.start(classes, { ...options, directory });
  }
}

/** Returns the assets of the configuration. @throws Error that names their folder if it is missing */
function assetsOf({ assets }: ObjectsConfig, path: string): Assets | undefined {
  if (assets?.directory === undefined) return undefined;
  const { directory, run_worker_first: first } = assets;
  const folder = resolve(dirname(path), directory);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new Error(
      `${path}: assets.directory: there is no folder ${folder}; make it, or remove the section assets.`,
    );
  }
  return new Assets(folder, {
    html: assets.html_handling,
    notFound: assets.not_found_handling,
    workerFirst: typeof first === 'boolean' ? [] : first,
  });
}

/** Returns the variables of this process and of the `.env` files in the current folder, which wrangler reads, too. */
function variablesOf({ environment }: DevOptions): NodeJS.Dict<string> {
  return processVariables(process.cwd(), environment);
}

/** Resolves the relative names of `alias`, which are files beside the wrangler file. */
function aliasIn(folder: string, alias: ObjectsConfig['alias']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(alias).map(([name, other]) => [
      name,
      other.startsWith('.') ? resolve(folder, other) : other,
    ]),
  );
}
