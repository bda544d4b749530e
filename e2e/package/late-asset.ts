// The late parts of a worker as a file beside it: how the code that is loaded first imports `late.js`.
//
// Bundlers copy the file of an address as it is, as they copy `sqlite3.wasm`, so none of them has to split a worker,
// which Vite 7 refuses. Parcel compiles the file and drops its exports, so the file has none: it leaves its parts at the
// global scope, under a symbol. Invariant: the symbol names the build, so that only two files of one build meet.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { Plugin } from 'esbuild';

const IMPORT = "const importLate: ImportLate = () => import('./late-parts.ts');";

const EXPORTS = /export ?\{([^}]*)\};?\s*$/;

/** Replaces the exports at the end of the file by the symbol; the result is the digest in its name. */
export function leaveAtSymbol(file: string): string {
  const text = readFileSync(file, 'utf8');
  const build = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const [exported, names] = EXPORTS.exec(text) ?? [];
  if (exported === undefined) throw new Error(`${file}: has no exports at its end`);
  const parts = names!.split(',').map((name) => {
    const [local, as = local] = name.trim().split(' as ');
    return `${as}:${local}`;
  });
  const code = `globalThis[${symbolOf(build)}]={${parts.join(',')}};\n`;
  writeFileSync(file, text.slice(0, -exported.length) + code);
  return build;
}

const symbolOf = (build: string) => `Symbol.for("ctx-storage.late.${build}")`;

/** Replaces the import of the late parts by that of the file of this digest. */
export function lateAsset(build: string): Plugin {
  return {
    name: 'late-asset',
    setup(bundle) {
      bundle.onLoad({ filter: /[\\/]load-late\.ts$/ }, ({ path }) => {
        const source = readFileSync(path, 'utf8');
        if (!source.includes(IMPORT)) throw new Error(`${path}: ${IMPORT} was not found`);
        return { contents: source.replace(IMPORT, importOf(build)), loader: 'ts' };
      });
    },
  };
}

// A fragment makes an address that has failed a new one for the browser, and the same file for a service worker. The page
// may name the file; code without an address fails here, and the operation reports it.
const importOf = (build: string) => `
  import { folderLeftBehind } from '../../../src/shared/contract/wasm-url.ts';
  const importLate: ImportLate = async (attempt, given) => {
    const folder = folderLeftBehind();
    const file = given ?? (folder === null ? new URL('./late.js', import.meta.url) : new URL('late.js', folder)).href;
    const address = attempt === 0 ? file : file + '#' + attempt;
    await import(address);
    const late = (globalThis as any)[${symbolOf(build)}];
    if (late === undefined) throw new Error(address + ' is of another build.');
    return late;
  };`;
