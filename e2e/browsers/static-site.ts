// Serves a function's result for a path, on a free port of localhost.

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.html': 'text/html',
  '.wasm': 'application/wasm',
};

type Headers = Readonly<Record<string, string>>;

export interface StaticSite {
  /** The origin without a trailing slash. */
  readonly origin: string;
  close(): Promise<void>;
}

/**
 * `read` returns the content of a path; if it throws, the answer is 404. A path without an extension is
 * HTML. `headers`: of every path, or of this one.
 */
export async function serveStatic(
  read: (path: string) => string | Buffer,
  headers: Headers | ((path: string) => Headers) = {},
): Promise<StaticSite> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    try {
      const content = read(pathname);
      response.setHeader('content-type', TYPES[extname(pathname) || '.html'] ?? 'text/plain');
      const own = typeof headers === 'function' ? headers(pathname) : headers;
      for (const [name, value] of Object.entries(own)) response.setHeader(name, value);
      response.end(content);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  return await listening(server);
}

/** The site of a server that was made, on a free port of localhost. */
export async function listening(server: Server): Promise<StaticSite> {
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://localhost:${port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
