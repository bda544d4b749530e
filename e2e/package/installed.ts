// The packed package, installed into a folder as npm would do it, and folders served as static files.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, normalize } from 'node:path';
import { REPOSITORY } from '../browsers/server.ts';
import { packTo } from './pack.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** The packed package; made in the folder once, unless PACKED_FILE names it: `npm test` packs once for all browsers. */
export function packedFile(directory: string): string {
  const { PACKED_FILE: packed = join(directory, 'package.tgz') } = process.env;
  if (process.env.PACKED_FILE === undefined && !existsSync(packed)) packTo(packed);
  return packed;
}

/** Has npm install packages, or files of packages, beside those of the folder's manifest. */
export function npmInstall(directory: string, ...packages: readonly string[]): void {
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
  // A build that ran in this process leaves its NODE_ENV, and in production npm omits the template's tools.
  const { NODE_ENV: _ours, ...env } = process.env;
  execFileSync('npm', ['install', ...quiet, ...packages], { cwd: directory, env, stdio: 'pipe' });
}

/** Installs the package into `node_modules` of a folder. */
export function installPacked(directory: string): void {
  const packed = packedFile(directory);
  const installed = join(directory, 'node_modules/ctx-storage');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', packed, '-C', installed, '--strip-components=1']);
}

/** Links packages of this repository, as if they had been installed beside it. */
export function linkPackages(directory: string, names: readonly string[]): void {
  for (const name of names) {
    const link = join(directory, 'node_modules', name);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(REPOSITORY, 'node_modules', name), link);
  }
}

/** Serves a folder on a free port of localhost, except paths that are not served; `/` is its index.html. */
export function serveFolder(
  root: string,
  isServed: (path: string) => boolean = () => true,
): Promise<Server> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url!, 'http://localhost').pathname);
    const file = path.endsWith('/') ? join(path, 'index.html') : path;
    try {
      if (!isServed(path)) throw new Error(`${path} is not served.`);
      const body = readFileSync(join(root, file));
      // As a CDN: pages of other origins may load it.
      response.setHeader('access-control-allow-origin', '*');
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream');
      response.end(body);
    } catch {
      response.statusCode = 404;
      response.end();
    }
  });
  return new Promise((resolve) => server.listen(0, 'localhost', () => resolve(server)));
}

/** Serves a folder during a task. */
export async function whileServed(
  root: string,
  task: (address: string) => Promise<void>,
  isServed?: (path: string) => boolean,
): Promise<void> {
  const server = await serveFolder(root, isServed);
  try {
    await task(`http://localhost:${(server.address() as AddressInfo).port}/`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
