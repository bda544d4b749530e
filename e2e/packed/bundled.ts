// Bundles the packed package that is installed in a folder, and reads the result.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build as bundle } from 'esbuild';
import { REPOSITORY } from '../browsers/server.ts';
import { linkPackages } from '../package/installed.ts';

/** Options of esbuild for a bundle in several files. */
export const INTO_PARTS = {
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  write: false,
  logLevel: 'error',
} as const;

/**
 * A bundler's output in a folder for an import, in bytes of brotli: the bytes that a page loads before it calls
 * anything.
 */
export async function sizeOf(
  directory: string,
  code: string,
): Promise<{ bytes: number; later: number; text: string }> {
  const { outputFiles } = await bundle({
    ...INTO_PARTS,
    stdin: { contents: code, resolveDir: directory },
    outdir: directory,
  });
  const sizes = outputFiles.map(({ contents }) => brotliCompressSync(contents).length);
  const index = outputFiles.findIndex(({ path }) => path.endsWith('stdin.js'));
  const later = sizes.reduce((sum, bytes) => sum + bytes) - sizes[index]!;
  return { bytes: sizes[index]!, later, text: outputFiles[index]!.text };
}

/** `@scope/name` of `@scope/name/module.js`. */
export function packageOf(path: string): string {
  const [, name] = /^((?:@[^/]+\/)?[^/]+)/.exec(path)!;
  return name!;
}

/** The packages that an installation would bring, and the optional peers of a project. */
export function linkPeers(directory: string): void {
  const { peerDependencies } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
  linkPackages(directory, Object.keys(peerDependencies));
}
