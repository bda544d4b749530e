// `ctx-storage/vite`: runs a project's classes in a page, as they were written for workerd.
//
//   cloudflare:workers            resolves to `ctx-storage/worker`
//   cloudflare:email, node:…      resolve to modules of this package (platform-modules.ts)
//   virtual:ctx-storage/start     a function that starts the worker with the classes of wrangler.jsonc
//   /__ctx-storage                in development, the inspector of the project's objects
//   *.txt, *.bin, *.wasm, …       modules by wrangler's rules
//   HTMLRewriter                  the module that has it, for code that names it
//
// The worker and its starter are files in Vite's cache folder, so that Vite handles them like any worker
// of a page, in development and in a build.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { checkHistoryLimits, type HistoryLimits } from '@ctx-storage/core/storage';
import type { DepOptimizationConfig, Plugin, ViteDevServer } from 'vite';
import { decoratorsPlugin } from './decorators.ts';
import { environmentOf, processVariables } from './dev-vars.ts';
import { GeneratedWorker, readConfig } from './generated-worker.ts';
import { inspectorRoute } from './inspector-route.ts';
import { linkedFiles } from './linked-files.ts';
import { type KindOf, kindsBy, moduleRules, moduleRulesOfLibraries } from './module-rules.ts';
import type { NodeApis } from './node-apis.ts';
import {
  CLOUDFLARE_NAMES,
  HERE,
  missingModules,
  NODE_NAMES,
  nodeModules,
  nodeNames,
  platformModules,
  UNENV,
  UNENV_VERSION,
} from './platform-modules.ts';
import { preloads } from './preloads.ts';
import type { ObjectsConfig } from './wrangler-config.ts';

export interface CtxStorageOptions {
  /**
   * The path of the project's configuration, relative to Vite's root. With `false`, there is no configuration, and the
   * page starts its own worker.
   *
   * @default wrangler.jsonc or wrangler.json, if one of them exists
   */
  readonly config?: string | false;
  /** The name of an environment of the file. @default CLOUDFLARE_ENV; if it is not set, the top of the file */
  readonly environment?: string;
  /** The module that `cloudflare:workers` resolves to. @default 'ctx-storage/worker' */
  readonly workerEntry?: string;
  /**
   * Whether built pages that import `virtual:ctx-storage/start` load the worker and SQLite at once, by links in their
   * head. Use `false` for pages that connect later, or never.
   *
   * @default true
   */
  readonly preload?: boolean;
  /**
   * The variables of the configuration (`vars`) that `env` has. They are in the page's files, where every visitor can
   * read them, in development and in a build; a warning names the variables that are left out.
   *
   * @default none
   */
  readonly vars?: readonly string[];
  /** How much history each object keeps. @default 30 days, within 256 MiB or the size of its database */
  readonly history?: HistoryLimits;
}

const START = 'virtual:ctx-storage/start';
const LIBRARY = 'cloudflare:workers';
const HTML_REWRITER = 'ctx-storage/worker/html-rewriter';
const SCRIPT = /\.[cm]?[jt]sx?$/;

const CONFIG_NAMES = ['wrangler.jsonc', 'wrangler.json', 'wrangler.toml'];

/** Patterns of a wrangler project's files that no page needs: secrets, variables, and data of local runs. */
const DENIED = [
  '.dev.vars',
  '.dev.vars.*',
  'wrangler.{json,jsonc,toml}',
  '**/.wrangler/**',
  '**/.ctx-storage/**',
];

/** Patterns of the files that Vite denies by default. A project's own list replaces Vite's list. */
const DENIED_BY_VITE = [
  '.env',
  '.env.*',
  '*.{crt,pem,key,p12,pfx,cer,der}',
  '.npmrc',
  '.yarnrc.yml',
  '**/.git/**',
];

/** Returns the plugins for `plugins` of a Vite configuration. An invalid wrangler configuration fails Vite's start. */
export function ctxStorage(options: CtxStorageOptions = {}): Plugin[] {
  const { workerEntry = 'ctx-storage/worker', preload = true, vars = [] } = options;
  const { history } = options;
  if (history !== undefined) checkHistoryLimits('ctxStorage', history);
  let root = '';
  // Modules are resolved from the root for every importer, because libraries and the generated worker must share one
  // module.
  const importer = () => join(root, 'index.html');
  let apis: NodeApis = 'none';
  let isServed = false;
  let environment: string | undefined;
  let kinds = kindsBy([], '');
  const kindOf: KindOf = (path) => kinds(path);
  /**
   * Returns the plugins for pages, and for workers of a build. In development, one server serves pages and workers, so
   * pages get Node's modules, too.
   */
  const common = (isBuiltWorker: boolean) =>
    [
      platformModules(workerEntry, importer),
      nodeModules(() => (isBuiltWorker || isServed ? apis : 'none'), importer, isBuiltWorker),
      moduleRules(kindOf),
      decoratorsPlugin(),
      htmlRewriterImport(() => isBuiltWorker || isServed, importer),
    ].map((plugin) => ({
      ...plugin,
      applyToEnvironment: isNotWorkerd,
    }));
  let worker: GeneratedWorker | undefined;

  const starter: Plugin = {
    name: 'ctx-storage:start',
    applyToEnvironment: isNotWorkerd,
    config(user, { command }) {
      isServed = command === 'serve';
      const folder = resolve(user.root ?? '');
      environment = environmentOf(options.environment, processVariables(folder, undefined));
      const path = findConfig(folder, options.config);
      // The configuration is read here, because Vite needs the modules that pre-bundling leaves out before it resolves
      // its own configuration.
      if (path !== undefined) ({ nodeApis: apis } = readConfig(path, vars, environment));
      const names = [...NODE_NAMES, ...nodeNames(apis)];
      return {
        // Vite adds this list to the user's list.
        server: { fs: { deny: user.server?.fs?.deny ? DENIED : [...DENIED_BY_VITE, ...DENIED] } },
        worker: { format: 'es', plugins: () => common(true) },
        optimizeDeps: {
          // These packages find their workers and WebAssembly beside their modules; pre-bundling would move only the
          // modules.
          exclude: ['ctx-storage', '@sqlite.org/sqlite-wasm', UNENV, ...names],
          ...bundling('rolldownVersion' in this.meta, kindOf),
        },
      };
    },
    configResolved(config) {
      root = config.root;
      const configPath = findConfig(root, options.config);
      if (configPath === undefined) return;
      const folder = join(config.cacheDir, 'ctx-storage');
      const unenv = isInstalled(UNENV, root);
      worker = new GeneratedWorker(configPath, folder, LIBRARY, vars, environment, history, unenv);
      const written = worker.write();
      kinds = kindsBy(written.rules, dirname(configPath));
      for (const warning of warningsOf(written, unenv))
        config.logger.warn(`${configPath}: ${warning}`);
    },
    configureServer(server) {
      if (worker === undefined) return;
      const { configPath, hasUnenv } = worker;
      followConfig(server, worker, (written) => {
        kinds = kindsBy(written.rules, dirname(configPath));
        apis = written.nodeApis;
        for (const warning of warningsOf(written, hasUnenv)) {
          server.config.logger.warn(`${configPath}: ${warning}`);
        }
      });
    },
    resolveId(id) {
      if (id !== START) return null;
      if (worker !== undefined) return worker.startPath;
      throw new Error(
        `${START} needs a ${CONFIG_NAMES.join(' or ')} in Vite's root, or the option config of ` +
          'ctxStorage(); or ' +
          'start your own worker that calls serve() of ctx-storage/worker.',
      );
    },
  };
  return [
    ...common(false),
    missingModules(() => root),
    linkedFiles(isNotWorkerd),
    starter,
    preloads(() => (preload ? worker?.startPath : undefined)),
    inspectorRoute(isNotWorkerd),
  ];
}

/** Returns warnings about parts of the configuration that objects in a page lack. */
function warningsOf(config: ObjectsConfig, hasUnenv: boolean): string[] {
  const { missing, otherVars, nodeApis } = config;
  const warnings = [...config.warnings];
  if (missing.length > 0) {
    const names = missing.map(({ name, section }) => `${name} (${section})`).join(', ');
    warnings.push(
      `${names}: these bindings do not exist here, so the env of objects in a page does not have them.`,
    );
  }
  if (otherVars.length > 0) {
    const names = otherVars.map((name) => JSON.stringify(name)).join(', ');
    warnings.push(
      `${otherVars.join(', ')}: these variables are left out of the env of objects in a page, whose files every ` +
        `visitor can read. Name the public ones: ctxStorage({ vars: [${names}] }).`,
    );
  }
  if (nodeApis === 'all' && !hasUnenv) {
    warnings.push(
      `its compatibility date or flags give process, Buffer, global and setImmediate, which objects in a page lack ` +
        `without the package ${UNENV}: npm install -D ${UNENV}@${UNENV_VERSION}, or add the flags ` +
        'no_nodejs_compat and no_nodejs_compat_v2.',
    );
  }
  return warnings;
}

// Returns the bundler's options. Vite 7 pre-bundles with esbuild, whose options the types of Vite 8 lack.
function bundling(isRolldown: boolean, kindOf: KindOf): DepOptimizationConfig {
  const external = [LIBRARY, ...CLOUDFLARE_NAMES];
  if (!isRolldown) return { esbuildOptions: { external } } as DepOptimizationConfig;
  return { rolldownOptions: { external, plugins: [moduleRulesOfLibraries(kindOf)] } };
}

// If another plugin runs the project on workerd, the real modules exist.
function isNotWorkerd({ config }: Parameters<NonNullable<Plugin['applyToEnvironment']>>[0]) {
  const { conditions } = config.resolve;
  return !conditions.includes('workerd') || conditions.includes(HERE);
}

/** Reports a mistake in an edited configuration. The last valid worker stays. */
function followConfig(
  server: ViteDevServer,
  worker: GeneratedWorker,
  follow: (config: ObjectsConfig) => void,
): void {
  server.watcher.add(worker.configPath);
  server.watcher.on('change', (changed) => {
    if (resolve(changed) !== worker.configPath) return;
    try {
      follow(worker.write());
    } catch (error) {
      const { message } = error as Error;
      server.config.logger.error(message, { timestamp: true });
      server.ws.send({ type: 'error', err: { message, stack: '' } });
      return;
    }
    // A module may import a file whose kind has changed, and Vite does not watch its cache folder.
    server.environments.client.moduleGraph.invalidateAll();
    server.ws.send({ type: 'full-reload' });
  });
}

function isInstalled(name: string, root: string): boolean {
  try {
    createRequire(join(root, 'index.html')).resolve(`${name}/package.json`);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return false;
    throw error;
  }
}

function findConfig(root: string, given: string | false | undefined): string | undefined {
  if (given === false) return undefined;
  if (given === undefined) {
    return CONFIG_NAMES.map((name) => resolve(root, name)).find((path) => existsSync(path));
  }
  const path = resolve(root, given);
  if (!existsSync(path)) throw new Error(`ctxStorage: config names ${path}, which is missing.`);
  return path;
}

/**
 * Imports the module with `HTMLRewriter` into code that names the class, because browsers lack it. A worker whose code
 * does not name it does not load it, and a module that does not name it is unchanged. `isWanted` returns whether the
 * code may run in a worker of objects; the module is resolved from `importer`.
 */
function htmlRewriterImport(isWanted: () => boolean, importer: () => string): Plugin {
  return {
    name: 'ctx-storage:html-rewriter',
    async transform(code, id) {
      const [file, query = ''] = id.split('?') as [string, string?];
      const isBrowser = this.environment.config.consumer === 'client';
      if (!isBrowser || !isWanted() || !SCRIPT.test(file)) return null;
      // An import with `?raw` or `?url` gets the text or the address of the file, which does not run.
      if (/(?:^|&)(?:raw|url)(?:&|=|$)/.test(query)) return null;
      if (!/\bHTMLRewriter\b/.test(code)) return null;
      const found = await this.resolve(HTML_REWRITER, importer(), { skipSelf: true });
      if (found === null)
        throw new Error(`${file} names HTMLRewriter: ${HTML_REWRITER} was not found.`);
      // The package's own files need no such import.
      if (dirname(file) === dirname(found.id)) return null;
      const from = JSON.stringify(found.id);
      // The import is in the first line, so that the line numbers of the code stay.
      return `import { provideHtmlRewriter as $ctxStorage } from ${from}; $ctxStorage(); ${code}`;
    },
  };
}
