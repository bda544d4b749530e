// Runs a project's worker on this machine, by its wrangler file: bundles it, serves it, keeps its data in a folder, and
// starts it again after each change of its code.
//
// Invariant: one app holds the folder at a time. After a change that cannot be built or started, requests get the reason
// until the next change.

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
  type AppSurroundings,
  appArguments,
  type BindingMakers,
  type ConfiguredEnv,
  configuredEnv,
  type LoadedCode,
} from './app-options.ts';
import { Assets } from './assets.ts';
import { type Built, bundleCode, mistake } from './bundle-code.ts';
import { CustomBuild } from './custom-build.ts';
import { type DevServer, type RunningApp, serveHttp } from './http-server.ts';
import { replaceProcessEnv } from './process-env.ts';

/** How long requests, and work that they wait for, may go on when the server is stopped. */
const CLOSE_MS = 5000;

const CONFIG_NAMES = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml'];

/** Code that is loaded for longer is reported. */
const LOAD_REPORT_SECONDS = 10;

/** The parts of this package that host an app in Node. */
export interface DevHost {
  readonly makers: BindingMakers;
  /** The address for Node of a module of this package. */
  readonly addressOf: (specifier: string) => string;
  /** Where this package's scripts are. */
  readonly scripts: string;
  /** Replaces globals for code that uses them while it is loaded; the result ends that. */
  holdGlobals(): () => void;
  /** Shows `env` to code that reads it while it is loaded. */
  provideEnv(env: object, names: Omit<ConfiguredEnv, 'env'>): void;
  /** Adds to it. */
  provideMore(given: LoadedCode['given']): void;
  start(classes: object, options: object): Promise<RunningApp>;
}

export interface DevOptions {
  /** The wrangler file. @default the one in the current folder */
  readonly config?: string | undefined;
  /** @default CLOUDFLARE_ENV; without it, the top of the file */
  readonly environment?: string | undefined;
  /** @default that of the wrangler file, or 8787 */
  readonly port?: number | undefined;
  /** @default that of the wrangler file, or 127.0.0.1 */
  readonly host?: string | undefined;
  /** The folder of the data. */
  readonly persist: string;
  /** The module with the user's own members of `env`. */
  readonly bindings?: string | undefined;
  readonly print: (line: string) => void;
}

/** Resolves when the first build has started, or has failed. @throws Error that names the mistake */
export async function dev(
  options: DevOptions,
  loadHost: () => Promise<DevHost>,
): Promise<DevServer> {
  const path = configOf(options.config);
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
  await build?.run(); // it may make the folder of the assets
  const assets = assetsOf(config, path);
  const app = new App(options, config, { folder, main, assets }, host);
  const endBuild = build?.follow();
  const endBundling = await app.follow();
  const end = async () => {
    endBuild?.();
    await endBundling();
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
        await end();
        await app.close();
      },
    };
  } catch (error) {
    await end();
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

function configOf(given: string | undefined): string {
  const names = given === undefined ? CONFIG_NAMES : [given];
  const found = names.find((name) => existsSync(name));
  if (found !== undefined) return resolve(found);
  throw new Error(
    given === undefined
      ? `There is no ${CONFIG_NAMES.join(', ')} in this folder; name one with --config.`
      : `--config is "${given}", which does not exist.`,
  );
}

/** The project, as its wrangler file says. */
interface Project extends Pick<AppSurroundings, 'folder' | 'assets'> {
  /** Undefined: assets are all that there is. */
  readonly main: string | undefined;
}

class App {
  readonly #options: DevOptions;
  readonly #config: ObjectsConfig;
  readonly #project: Project;
  readonly #host: DevHost;
  /** The latest code was built and loaded. */
  #isBuilt = false;
  #isFirst = true;
  /** The app that runs, or the reason why none does. Each start waits for the end of the one before. */
  #running: Promise<RunningApp> = Promise.reject(new Error('Nothing has started.'));
  readonly #printed = new Set<string>();
  #restoreProcessEnv = () => {};
  /** Ends the wait for the latest code, which may never be loaded. */
  #waiting = new AbortController();

  constructor(options: DevOptions, config: ObjectsConfig, project: Project, host: DevHost) {
    this.#options = options;
    this.#config = config;
    this.#project = project;
    this.#host = host;
    this.#running.catch(() => {});
  }

  /** The app of the latest code. @throws the reason why none runs */
  async running(): Promise<RunningApp> {
    const asked = this.#running;
    const [result] = await Promise.allSettled([asked]);
    if (asked !== this.#running) return this.running();
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  }

  /** @throws Error that no change of the code can mend, such as a folder that another process holds */
  async mustHaveStarted(): Promise<void> {
    if (this.#isBuilt) await this.#running;
  }

  async close(): Promise<void> {
    this.#waiting.abort();
    const running = await this.#running.catch(() => undefined);
    await running?.close();
    this.#restoreProcessEnv();
  }

  /** Bundles and starts, now and after each change; the result ends that. */
  async follow(): Promise<() => Promise<void>> {
    const { bindings, persist } = this.#options;
    let first = () => {};
    const hasBuilt = new Promise<void>((resolve) => {
      first = resolve;
    });
    const end = await bundleCode(
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
    return end;
  }

  async #replace(built: Built): Promise<void> {
    const { print } = this.#options;
    const before = this.#running;
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#isBuilt = false;
    this.#waiting.abort();
    const { signal } = (this.#waiting = new AbortController());
    this.#running = (async () => {
      // First: code that fails while it is loaded must not keep the folder.
      const living = await before.catch(() => undefined);
      await living?.close();
      if (built.kind === 'failure') throw mistake(built.message);
      // Variables of this machine choose the files of the secrets, again for each build.
      this.#restoreProcessEnv();
      const secrets = this.#secrets();
      const env = configuredEnv(this.#config, this.#host.makers, { ...this.#project, secrets });
      this.#host.provideEnv(env.env, env);
      this.#showProcessEnv(env);
      const code = await this.#loaded(built.load, signal);
      this.#isBuilt = true;
      return this.#start(code, env);
    })();
    await this.#running.then(
      () => print('Ready.\n'),
      (error: Error) => {
        // `mustHaveStarted` throws it, which ends the program.
        const isFatal = isFirst && this.#isBuilt;
        if (!signal.aborted && !isFatal) print(`${error.message}\n`);
      },
    );
  }

  /** Each problem with them is printed once. */
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

  async #loaded(
    load: (Built & { kind: 'code' })['load'],
    signal: AbortSignal,
  ): Promise<LoadedCode> {
    const ended = () => mistake('The code changed while it was loaded, or the server has ended.');
    if (signal.aborted) throw ended();
    const report =
      `${this.#config.main} is still being loaded after ${LOAD_REPORT_SECONDS} s, so a top-level await has not ended. ` +
      'Requests wait for its end, or for the next change of the code.\n';
    const timer = setTimeout(() => this.#options.print(report), LOAD_REPORT_SECONDS * 1000);
    const abandoned = once(signal, 'abort').then(() => Promise.reject(ended()));
    return Promise.race([load(this.#host.provideMore), abandoned]).finally(() =>
      clearTimeout(timer),
    );
  }

  #start(code: LoadedCode, env: ConfiguredEnv): Promise<RunningApp> {
    const { assets, main } = this.#project;
    const whole =
      main === undefined ? { ...code, main: { default: { fetch: assets!.fetch } } } : code;
    const { classes, options } = appArguments(this.#config, whole, this.#host.makers, env);
    const directory = join(resolve(this.#options.persist), 'objects');
    return this.#host.start(classes, { ...options, directory });
  }
}

/** @throws Error that names the folder, if there is none */
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

/** Like wrangler, reads the `.env` files of the current folder. */
function variablesOf({ environment }: DevOptions): NodeJS.Dict<string> {
  return processVariables(process.cwd(), environment);
}

/** Relative names are files beside the configuration. */
function aliasIn(folder: string, alias: ObjectsConfig['alias']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(alias).map(([name, other]) => [
      name,
      other.startsWith('.') ? resolve(folder, other) : other,
    ]),
  );
}
