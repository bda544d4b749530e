// The packed packages, installed into a folder as npm would do it, and folders served as static files.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, extname, join, normalize } from 'node:path';
import { builtOnce } from '../browsers/built-once.ts';
import { REPOSITORY } from '../browsers/server.ts';
import { EMULATOR, manifestOf, STORAGE } from './entry-modules.ts';
import { emulatorBeside, packTo } from './pack.ts';

const PACKED_NAME = 'package.tgz';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
};

/** The packed package: the file PACKED_FILE, or packed once for all workers of a run, which share `dist`. */
export async function packedFile(): Promise<string> {
  const { PACKED_FILE: given } = process.env;
  if (given !== undefined) return given;
  const folder = await builtOnce('packed', async (folder) => {
    mkdirSync(folder);
    packTo(join(folder, PACKED_NAME));
  });
  return join(folder, PACKED_NAME);
}

/** The packed package of the emulator, which lies beside the other. */
export async function packedEmulator(): Promise<string> {
  return emulatorBeside(await packedFile());
}

/** Has npm install packages, or files of packages, beside those of the folder's manifest. */
export function npmInstall(directory: string, ...packages: readonly string[]): void {
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline'];
  // A build that ran in this process leaves its NODE_ENV, and in production npm omits the template's tools.
  const { NODE_ENV: _ours, ...env } = process.env;
  execFileSync('npm', ['install', ...quiet, ...packages], { cwd: directory, env, stdio: 'pipe' });
}

/** Installs the package into `node_modules` of a folder. */
export async function installPacked(directory: string): Promise<void> {
  unpack(await packedFile(), join(directory, 'node_modules', manifestOf(STORAGE).name));
}

/** Installs the emulator's package beside it. */
export async function installEmulator(directory: string): Promise<void> {
  unpack(await packedEmulator(), join(directory, 'node_modules', manifestOf(EMULATOR).name));
}

function unpack(file: string, folder: string): void {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xzf', file, '-C', folder, '--strip-components=1']);
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
      // Like a CDN, let pages of other origins load the file.
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
