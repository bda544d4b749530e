// The pages of all contenders on one origin: /<kit>/ is a page, its scripts and files are beside it.
//
// Each site has a port of its own, so that a page of a new one is a first visit: nothing is cached or stored.

import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { REPOSITORY } from '../../browsers/server.ts';
import { type StaticSite, serveStatic } from '../../browsers/static-site.ts';
import { forBrowsers } from '../../package/package-bundle.ts';
import { roomDoors } from '../../package/rooms.ts';
import { KITS, type Kit } from './contenders.ts';

export const PEER_HTML =
  '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">' +
  '<script type="module" src="page.js"></script>';

/** The served files, by path. */
export type PeerFiles = ReadonlyMap<string, string | Buffer>;

/** Bundles the needs of the named kits, as small as their users would; `root`: of another version of the package. */
export async function bundlePeers(kits: Iterable<string>, root = REPOSITORY): Promise<PeerFiles> {
  const files = new Map<string, string | Buffer>();
  for (const name of kits) {
    const { scripts, files: beside = [] } = KITS[name]!;
    files.set(`/${name}/`, PEER_HTML);
    for (const file of beside) {
      files.set(`/${name}/${basename(file)}`, readFileSync(join(root, file)));
    }
    // Apart from each other, as packages ship their workers: shared parts would be loaded one after the other.
    for (const script of Object.entries(scripts)) {
      for (const { path, contents } of await bundle(Object.fromEntries([script]), root)) {
        files.set(`/${name}/${basename(path)}`, Buffer.from(contents));
      }
    }
  }
  return files;
}

/** The headers of isolated pages, which one of the contenders needs. */
export const PEER_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cache-control': 'max-age=3600',
};

export async function servePeers(files: PeerFiles): Promise<StaticSite> {
  return await serveStatic((path) => {
    const content = files.get(path);
    if (content === undefined) throw new Error(`not found: ${path}`);
    return content;
  }, PEER_HEADERS);
}

async function bundle(scripts: Kit['scripts'], root: string) {
  const { outputFiles } = await build({
    ...forBrowsers,
    plugins: [roomDoors(root), ...forBrowsers.plugins],
    logLevel: 'error',
    splitting: true,
    sourcemap: false,
    absWorkingDir: root,
    write: false,
    outdir: 'out',
    // Libraries that also run in Node name its modules, which a page never loads.
    external: [
      'node:*',
      'fs',
      'path',
      'module',
      'crypto',
      'util',
      'url',
      'os',
      'ws',
      'fs/promises',
    ],
    entryPoints: { ...scripts },
  });
  return outputFiles;
}
