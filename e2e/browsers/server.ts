// Serves the repository to a browser under test, with Vite's transforms, on a free port.
//
// Dependencies are pre-bundled only by name: Vite reloads every page when it discovers another
// dependency, and a test would lose its page.

import { mkdir, readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { createServer, type InlineConfig, type Plugin, type ViteDevServer } from 'vite';
import { ctxStorage } from '../../packages/vite/plugin.ts';
import { builtOnce } from './built-once.ts';
import { buildPages, builtFile } from './built-pages.ts';
import { MODULE_ALIASES } from './module-aliases.ts';

export const REPOSITORY = join(import.meta.dirname, '../..');

/** A path whose answer has the browser clear the storage of the server's origin. */
export const CLEAR_PATH = '/clear-site-data';

/** The page of `openBlank`. */
export const BLANK_PATH = '/e2e/specs/pages/blank.html';

/**
 * Runs a task of Vite in the mode that it names itself. Vite leaves `NODE_ENV` behind in the process, and a build obeys
 * the one it finds: after a development server, `import.meta.env.PROD` would be false and no service worker registered.
 */
export async function withoutNodeEnv<T>(task: () => Promise<T>): Promise<T> {
  const { NODE_ENV: before } = process.env;
  delete process.env.NODE_ENV;
  try {
    return await task();
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  }
}

/** Longer than a run of the tests. */
const CACHED = 'max-age=3600';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.wasm': 'application/wasm',
};

/** `ctx-storage/worker` in the sources. */
const WORKER_ENTRY = join(REPOSITORY, 'worker/start/entries/objects.ts');

/** Libraries of pages and of e2e/workerd/libraries that have many files, or depend on CommonJS. */
const PREBUNDLED = [
  '@cloudflare/actors',
  '@orpc/server',
  '@orpc/server/fetch',
  'agents',
  'capnweb',
  'drizzle-orm',
  'drizzle-orm/durable-sqlite',
  'drizzle-orm/durable-sqlite/migrator',
  'drizzle-orm/sqlite-core',
  'kysely',
  'partyserver',
  'react',
  'react-dom/client',
  'tinybase',
  'tinybase/persisters/persister-durable-object-sql-storage',
  'tinybase/persisters/persister-durable-object-storage',
  'workers-qb',
  'y-partyserver',
  'y-partyserver/provider',
  'yjs',
];

/** A host by which tests reach the server as an insecure page would. */
export const INSECURE_HOST = 'insecure.test';

/** Where pages come from. */
export interface Served {
  /** The origin without a trailing slash. It is a secure context, because it is on localhost. */
  readonly origin: string;
}

export interface TestServer extends Served {
  close(): Promise<void>;
}

/** Where a path under a mount point is read from. */
export type Mount = (path: string) => string | null;

/** A folder as a mount; nothing outside it can be asked for. */
export function folderMount(directory: string): Mount {
  return (path) => {
    const file = normalize(join(directory, path));
    return file.startsWith(directory + sep) ? file : null;
  };
}

interface ServerOptions {
  /** Serves files of other folders as they are, by prefix. */
  readonly mounts?: Readonly<Record<string, Mount>>;
  /**
   * Names the cache of pre-bundled libraries. Servers that run side by side need one each, unless they have built pages:
   * these share one.
   */
  readonly cache?: string;
  /** Serves the pages of tests as a build, which opens at once, instead of as modules. */
  readonly builtPages?: boolean;
  /** Whether pages import the libraries that have to be pre-bundled. @default true */
  readonly libraries?: boolean;
  /** Serves pages that are isolated (COOP, COEP). @default false */
  readonly isolated?: boolean;
}

const ISOLATION = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

/** Starts the server. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const config = options.builtPages ? await configOfBuilt(options) : configOf(options);
  const server = await listening(config);
  const address = server.httpServer!.address();
  if (address === null || typeof address === 'string') {
    throw new Error('The test server has no port.');
  }
  return {
    origin: `http://localhost:${address.port}`,
    close: () => server.close(),
  };
}

/** Servers with built pages share the pages and the cache of libraries: makes both, once a run. */
export async function buildShared(): Promise<void> {
  await configOfBuilt({});
}

function sourcesOf() {
  const objects = ctxStorage({
    config: 'e2e/workerd/room/wrangler.jsonc',
    workerEntry: WORKER_ENTRY,
    vars: ['KEEP_MS'],
  });
  return { plugins: [objects], resolve: { alias: MODULE_ALIASES } };
}

async function configOfBuilt(options: ServerOptions): Promise<InlineConfig> {
  const pages = await builtOnce('pages', (folder) => buildPages(REPOSITORY, folder, sourcesOf()));
  const config = configOf({ ...options, cache: 'tests' }, pages);
  // The first server fills the cache alone; Vite finds it there in this run and in later ones.
  await builtOnce('libraries', async (folder) => {
    const server = await listening(config);
    const { metadata } = server.environments.client!.depsOptimizer!;
    await Promise.all(Object.values(metadata.discovered).map(({ processing }) => processing));
    await server.close();
    await mkdir(folder);
  });
  return config;
}

async function listening(config: InlineConfig): Promise<ViteDevServer> {
  const server = await withoutNodeEnv(() => createServer(config));
  return await server.listen();
}

function configOf(
  { mounts = {}, cache = 'tools', isolated = false, libraries = true }: ServerOptions,
  pages: string | null = null,
): InlineConfig {
  const { plugins, resolve } = sourcesOf();
  // Pages must not ask for every module again: they do not change while tests run.
  const headers = { 'cache-control': CACHED, ...(isolated && ISOLATION) };
  return {
    configFile: false,
    root: REPOSITORY,
    cacheDir: join(REPOSITORY, 'node_modules/.vite', cache),
    appType: 'mpa',
    logLevel: 'error',
    plugins: [
      mountPlugin(mounts),
      clearPlugin,
      ...(pages === null ? [] : [builtPlugin(pages, headers)]),
      ...plugins,
    ],
    optimizeDeps: { noDiscovery: true, include: libraries ? PREBUNDLED : [] },
    resolve,
    worker: { format: 'es' },
    // A file saved while tests run must not reload their pages.
    server: {
      host: 'localhost',
      port: 0,
      allowedHosts: [INSECURE_HOST],
      hmr: false,
      watch: null,
      headers,
    },
  };
}

const clearPlugin: Plugin = {
  name: 'clear-site-data',
  configureServer({ middlewares }) {
    middlewares.use(CLEAR_PATH, (_request, response) => {
      response.setHeader('clear-site-data', '"storage"').end();
    });
  },
};

/** Serves built files; all other files are served from the sources. */
function builtPlugin(directory: string, headers: Readonly<Record<string, string>>): Plugin {
  const mount = folderMount(directory);
  return {
    name: 'built-pages',
    configureServer({ middlewares }) {
      middlewares.use((request, response, next) => {
        const file = builtFile(request.url ?? '/');
        if (file === null) return next();
        // Not served at the module's own address: its imports are next to the built file.
        if (file !== request.url) return response.writeHead(302, { location: file }).end();
        response.setHeaders(new Map(Object.entries(headers)));
        void serve(mount(new URL(file, 'http://localhost').pathname), response);
      });
    },
  };
}

function mountPlugin(mounts: Readonly<Record<string, Mount>>): Plugin {
  return {
    name: 'mounts',
    configureServer({ middlewares }) {
      for (const [prefix, mount] of Object.entries(mounts)) {
        middlewares.use(prefix, (request, response) => {
          const { pathname } = new URL(request.url ?? '/', 'http://localhost');
          // The mounted content may change between two tests.
          response.setHeader('cache-control', 'no-store');
          void serve(mount(decodeURIComponent(pathname)), response);
        });
      }
    },
  };
}

async function serve(file: string | null, response: ServerResponse): Promise<void> {
  try {
    if (file === null) throw new Error('outside the folder');
    const content = await readFile(file);
    response.setHeader('content-type', TYPES[extname(file)] ?? 'text/javascript');
    response.end(content);
  } catch (error) {
    response.statusCode = 404;
    response.end(String(error));
  }
}
