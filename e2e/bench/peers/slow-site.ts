// Serves files as a network of a given latency and bandwidth brings them, compressed as static hosts do.
//
// The server itself is slow, because a browser's emulation of networks leaves out the requests of workers, and
// Firefox has none. All responses share the bandwidth.

import { createServer, type ServerResponse } from 'node:http';
import { extname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync } from 'node:zlib';
import { listening, type StaticSite } from '../../browsers/static-site.ts';

export interface Network {
  /** From a request to the first byte of its response. */
  readonly latencyMs: number;
  readonly bytesPerSecond: number;
}

/** The bytes that pass before another response has its turn. */
const PART_BYTES = 4096;

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** Files as `serveSlowly` takes them. */
export type CompressedFiles = ReadonlyMap<string, Buffer>;

export function compressed(files: ReadonlyMap<string, string | Buffer>): CompressedFiles {
  return new Map([...files].map(([path, content]) => [path, brotliCompressSync(content)]));
}

/** The files by path; one without an extension is HTML. */
export async function serveSlowly(
  files: CompressedFiles,
  network: Network,
  headers: Readonly<Record<string, string>>,
): Promise<StaticSite> {
  const line = new Line(network.bytesPerSecond);
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const content = files.get(pathname);
    await sleep(network.latencyMs);
    if (content === undefined) {
      response.statusCode = 404;
      response.end();
      return;
    }
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    response.setHeader('content-type', TYPES[extname(pathname)] ?? 'text/html');
    response.setHeader('content-encoding', 'br');
    response.setHeader('content-length', content.length);
    await line.send(response, content);
  });
  return await listening(server);
}

/** Lets parts pass one after the other. */
class Line {
  readonly #bytesPerSecond: number;
  #freeMs = 0;

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  async send(response: ServerResponse, content: Buffer): Promise<void> {
    for (let at = 0; at < content.length && !response.destroyed; at += PART_BYTES) {
      const part = content.subarray(at, at + PART_BYTES);
      const nowMs = performance.now();
      this.#freeMs = Math.max(nowMs, this.#freeMs) + (part.length / this.#bytesPerSecond) * 1000;
      await sleep(this.#freeMs - nowMs);
      response.write(part);
    }
    response.end();
  }
}
