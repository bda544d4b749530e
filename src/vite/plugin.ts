// `ctx-storage/vite`: runs a project's classes, as they are written for workerd, in a page.
//
//   cloudflare:workers            is `ctx-storage/worker`
//   virtual:ctx-storage/start     a function that starts the worker with the classes of wrangler.jsonc
//   *.sql                         the text of the file
//
// The worker and its starter are written as files to Vite's cache folder, so that Vite handles them
// as it handles any worker of a page, in development and in a build.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { Plugin } from 'vite';
import { startModule, workerModule } from './worker-module.ts';
import { parseWranglerConfig } from './wrangler-config.ts';

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
const WORKER_FILE = 'objects.worker.js';
const START_FILE = 'start.js';
const CONFIG_NAMES = ['wrangler.jsonc', 'wrangler.json'];

export function ctxStorage(options: CtxStorageOptions = {}): Plugin {
  const { workerEntry = 'ctx-storage/worker' } = options;
  let configPath: string | undefined;
  let folder = '';

  const generate = () => {
    if (configPath === undefined) return;
    const config = parseWranglerConfig(readFileSync(configPath, 'utf8'), configPath);
    const main = resolve(dirname(configPath), config.main);
    if (!existsSync(main))
      throw new Error(`${configPath}: "main" names ${main}, which is missing.`);
    mkdirSync(folder, { recursive: true });
    const paths = {
      library: LIBRARY,
      main: specifier(folder, main),
      mainName: config.main,
      configName: basename(configPath),
    };
    writeChanged(join(folder, WORKER_FILE), workerModule(config, paths));
    writeChanged(join(folder, START_FILE), startModule(WORKER_FILE));
  };

  return {
    ...resolution(workerEntry),
    name: 'ctx-storage',
    config: () => ({
      worker: { format: 'es' as const, plugins: () => [resolution(workerEntry)] },
      // Their workers and WebAssembly are found beside them, where pre-bundling would not put them.
      optimizeDeps: {
        exclude: ['ctx-storage', '@sqlite.org/sqlite-wasm'],
        rolldownOptions: { external: [LIBRARY] },
      },
    }),
    configResolved({ root, cacheDir }) {
      folder = join(cacheDir, 'ctx-storage');
      configPath = findConfig(root, options.config);
      generate();
    },
    configureServer(server) {
      if (configPath === undefined) return;
      server.watcher.add(configPath);
      server.watcher.on('change', (changed) => {
        if (resolve(changed) !== configPath) return;
        generate();
        server.ws.send({ type: 'full-reload' });
      });
    },
    resolveId(id, importer) {
      if (id === LIBRARY) return this.resolve(workerEntry, importer, { skipSelf: true });
      if (id !== START) return null;
      if (configPath !== undefined) return join(folder, START_FILE);
      throw new Error(
        `${START} needs a ${CONFIG_NAMES.join(' or ')} in Vite's root, or the option config of ` +
          'ctxStorage(). A wrangler.toml is not read: convert it, or start a worker of your own ' +
          'that calls serve() of ctx-storage/worker.',
      );
    },
  };
}

/** What worker bundles need as well. */
function resolution(workerEntry: string): Plugin {
  return {
    name: 'ctx-storage:modules',
    enforce: 'pre',
    resolveId(id, importer) {
      if (id === LIBRARY) return this.resolve(workerEntry, importer, { skipSelf: true });
      return null;
    },
    load(id) {
      if (!id.endsWith('.sql')) return null;
      return `export default ${JSON.stringify(readFileSync(id, 'utf8'))};`;
    },
  };
}

function findConfig(root: string, given: string | false | undefined): string | undefined {
  if (given === false) return undefined;
  if (given === undefined) {
    return CONFIG_NAMES.map((name) => join(root, name)).find((path) => existsSync(path));
  }
  const path = resolve(root, given);
  if (!existsSync(path)) throw new Error(`ctxStorage: config names ${path}, which is missing.`);
  return path;
}

function specifier(from: string, to: string): string {
  const path = relative(from, to).replaceAll('\\', '/');
  return path.startsWith('.') ? path : `./${path}`;
}

// A file that is written anew would reload pages for nothing.
function writeChanged(path: string, text: string): void {
  if (!existsSync(path) || readFileSync(path, 'utf8') !== text) writeFileSync(path, text);
}
