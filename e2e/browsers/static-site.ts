// Serves a function's result for a path, on a free port of localhost.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.html': 'text/html',
  '.wasm': 'application/wasm',
};

export interface StaticSite {
  /** Without a trailing slash. */
  readonly origin: string;
  close(): Promise<void>;
}

/**
 * `read` returns the content of a path; if it throws, the answer is 404. A path without an extension is
 * HTML.
 */
export async function serveStatic(
  read: (path: string) => string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<StaticSite> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    try {
      const content = read(pathname);
      response.setHeader('content-type', TYPES[extname(pathname) || '.html'] ?? 'text/plain');
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      response.end(content);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
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
