// `ctx-storage/vite`: runs a project's classes, as they are written for workerd, in a page.
//
//   cloudflare:workers            is `ctx-storage/worker`
//   virtual:ctx-storage/start     a function that starts the worker with the classes of wrangler.jsonc
//   *.txt, *.bin, *.wasm, …       modules by wrangler's rules
//
// The worker and its starter are written as files to Vite's cache folder, so that Vite handles them
// as it handles any worker of a page, in development and in a build.

import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { DepOptimizationConfig, Plugin, ViteDevServer } from 'vite';
import { decoratorsPlugin } from './decorators.ts';
import { GeneratedWorker } from './generated-worker.ts';
import { missingModules } from './missing-modules.ts';
import { type KindOf, kindsBy, moduleRules, moduleRulesOfLibraries } from './module-rules.ts';
import type { ObjectsConfig } from './wrangler-config.ts';

export interface CtxStorageOptions {
  /**
   * The project's configuration: a path from Vite's root. `false`: there is none, and the page starts
   * a worker of its own. @default wrangler.jsonc or wrangler.json, when there is one
   */
  readonly config?: string | false;
  /** What `cloudflare:workers` stands for. @default 'ctx-storage/worker' */
  readonly workerEntry?: string;
}

const START = 'virtual:ctx-storage/start';
const LIBRARY = 'cloudflare:workers';
const CONFIG_NAMES = ['wrangler.jsonc', 'wrangler.json'];

/** For `plugins` of a Vite configuration. A configuration that is wrong fails Vite's start. */
export function ctxStorage(options: CtxStorageOptions = {}): Plugin[] {
  const { workerEntry = 'ctx-storage/worker' } = options;
  let root = '';
  // From the root, whoever imports it: libraries and the generated worker must meet one module.
  const modules = () => modulesPlugin(workerEntry, () => join(root, 'index.html'));
  let kinds = kindsBy([], '');
  const kindOf: KindOf = (path) => kinds(path);
  /** Of pages and workers alike. */
  const common = () =>
    [modules(), moduleRules(kindOf), decoratorsPlugin()].map((plugin) => ({
      ...plugin,
      applyToEnvironment: isNotWorkerd,
    }));
  let worker: GeneratedWorker | undefined;

  const starter: Plugin = {
    name: 'ctx-storage:start',
    applyToEnvironment: isNotWorkerd,
    config() {
      return {
        worker: { format: 'es', plugins: common },
        optimizeDeps: {
          // Their workers and WebAssembly are found beside them, where pre-bundling would not put them.
          exclude: ['ctx-storage', '@sqlite.org/sqlite-wasm'],
          ...bundling('rolldownVersion' in this.meta, kindOf),
        },
      };
    },
    configResolved(config) {
      root = config.root;
      const configPath = findConfig(root, options.config);
      if (configPath === undefined) return;
      worker = new GeneratedWorker(configPath, join(config.cacheDir, 'ctx-storage'), LIBRARY);
      const { otherBindings, rules } = worker.write();
      kinds = kindsBy(rules, dirname(configPath));
      if (otherBindings.length > 0) {
        config.logger.warn(
          `${configPath}: ${otherBindings.join(', ')}: bindings that are no classes; objects in a ` +
            'page do not have them in env.',
        );
      }
    },
    configureServer(server) {
      if (worker === undefined) return;
      const folder = dirname(worker.configPath);
      followConfig(server, worker, ({ rules }) => {
        kinds = kindsBy(rules, folder);
      });
    },
    resolveId(id) {
      if (id !== START) return null;
      if (worker !== undefined) return worker.startPath;
      throw new Error(
        `${START} needs a ${CONFIG_NAMES.join(' or ')} in Vite's root, or the option config of ` +
          'ctxStorage(). A wrangler.toml is not read: convert it, or start a worker of your own ' +
          'that calls serve() of ctx-storage/worker.',
      );
    },
  };
  return [...common(), missingModules(() => root), starter];
}

// Vite 7 pre-bundles with esbuild, whose options its own types do not name in Vite 8.
function bundling(isRolldown: boolean, kindOf: KindOf): DepOptimizationConfig {
  const external = [LIBRARY];
  if (!isRolldown) return { esbuildOptions: { external } } as DepOptimizationConfig;
  return { rolldownOptions: { external, plugins: [moduleRulesOfLibraries(kindOf)] } };
}

/** What pages and workers need alike. */
function modulesPlugin(workerEntry: string, importer: () => string): Plugin {
  return {
    name: 'ctx-storage:modules',
    enforce: 'pre',
    resolveId(id) {
      return id === LIBRARY ? this.resolve(workerEntry, importer(), { skipSelf: true }) : null;
    },
  };
}

// Where another plugin runs the project in workerd itself, the real modules are there.
function isNotWorkerd({ config }: Parameters<NonNullable<Plugin['applyToEnvironment']>>[0]) {
  return !config.resolve.conditions.includes('workerd');
}

/** A mistake in an edited configuration is shown, and the last good worker stays. */
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
    // Any module may import a file that is another kind now; and Vite does not watch its cache folder.
    server.environments.client.moduleGraph.invalidateAll();
    server.ws.send({ type: 'full-reload' });
  });
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
