// Serves the repository to a browser under test, with Vite's transforms, on a free port.
//
// Dependencies are pre-bundled only by name: Vite reloads every page when it discovers one that it has
// not bundled yet, which a test would meet as a lost page.

import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join, normalize, sep } from 'node:path';
import { createServer, type Plugin } from 'vite';
import { ctxStorage } from '../../src/vite/plugin.ts';

export const REPOSITORY = join(import.meta.dirname, '../..');

/** A path whose answer has the browser clear the storage of the server's origin. */
export const CLEAR_PATH = '/clear-site-data';

/** What `ctx-storage/worker` is in the sources. */
const WORKER_ENTRY = join(REPOSITORY, 'worker/entries/objects.ts');

/** What `ctx-storage/worker/…` are in the sources. */
export const MODULE_ALIASES = ['async-hooks', 'cloudflare-email', 'diagnostics-channel'].map(
  (name) => ({
    find: `ctx-storage/worker/${name}`,
    replacement: join(REPOSITORY, `worker/modules/${name}.ts`),
  }),
);

/** Libraries of e2e/libraries that have many files, or depend on CommonJS. */
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

export interface TestServer {
  /** Without a trailing slash; a secure context, because it is on localhost. */
  readonly origin: string;
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
  /** Serves JavaScript files of other folders as they are, by prefix. */
  readonly mounts?: Readonly<Record<string, Mount>>;
  /** Names the cache of pre-bundled libraries; servers that run side by side need one each. */
  readonly cache?: string;
}

/** Starts the server. */
export async function startServer({
  mounts = {},
  cache = 'tools',
}: ServerOptions = {}): Promise<TestServer> {
  const server = await createServer({
    configFile: false,
    root: REPOSITORY,
    cacheDir: join(REPOSITORY, 'node_modules/.vite', cache),
    appType: 'mpa',
    logLevel: 'error',
    plugins: [
      mountPlugin(mounts),
      clearPlugin,
      ctxStorage({ config: 'demo/objects/wrangler.jsonc', workerEntry: WORKER_ENTRY }),
    ],
    optimizeDeps: { noDiscovery: true, include: PREBUNDLED },
    resolve: { alias: MODULE_ALIASES },
    worker: { format: 'es' },
    // A file saved while tests run must not reload their pages.
    server: {
      host: 'localhost',
      port: 0,
      allowedHosts: [INSECURE_HOST],
      hmr: false,
      watch: null,
      // Nor must each page ask for every module again: they do not change while tests run.
      headers: { 'cache-control': 'max-age=3600' },
    },
  });
  await server.listen();
  const address = server.httpServer!.address();
  if (address === null || typeof address === 'string') {
    throw new Error('The test server has no port.');
  }
  return { origin: `http://localhost:${address.port}`, close: () => server.close() };
}

const clearPlugin: Plugin = {
  name: 'clear-site-data',
  configureServer({ middlewares }) {
    middlewares.use(CLEAR_PATH, (_request, response) => {
      response.setHeader('clear-site-data', '"storage"').end();
    });
  },
};

function mountPlugin(mounts: Readonly<Record<string, Mount>>): Plugin {
  return {
    name: 'mounts',
    configureServer({ middlewares }) {
      for (const [prefix, mount] of Object.entries(mounts)) {
        middlewares.use(prefix, (request, response) => void serve(mount, request, response));
      }
    },
  };
}

async function serve(
  mount: Mount,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const file = mount(decodeURIComponent(new URL(request.url ?? '/', 'http://localhost').pathname));
  try {
    if (file === null) throw new Error('outside the folder');
    const text = await readFile(file, 'utf8');
    response.setHeader('content-type', 'text/javascript').setHeader('cache-control', 'no-store');
    response.end(text);
  } catch (error) {
    response.statusCode = 404;
    response.end(String(error));
  }
}
