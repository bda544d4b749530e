// Where the instrumented SQLite lies, in the form bundlers recognise; the package build rewrites it.
//
// Vite 7 bundles the modules of a dependency into a cache and leaves the files beside them behind, so the
// form names a file of the cache, which does not exist. Later versions correct such addresses.

/** Where Vite keeps the bundled dependencies of a project: beside the dependencies themselves. */
const CACHE = /\/node_modules\/\.vite\/deps\/[^/]*$/;

/** The package's folder, if the modules were moved from it and the file was not. */
export function folderLeft(file: URL): URL | null {
  return CACHE.test(file.pathname) ? new URL('../../ctx-storage/dist/', file) : null;
}

const beside = new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url);

export const FOLDER_LEFT = folderLeft(beside);

export const WASM_URL = FOLDER_LEFT === null ? beside : new URL('sqlite3.wasm', FOLDER_LEFT);
