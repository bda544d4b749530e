// Finds the addresses of the package's files, which lie beside the running code. The expressions have the form that
// bundlers recognise; the package build rewrites the address.
//
// Vite 7 bundles the modules of a dependency into a cache and leaves the files beside them behind, so the
// form names a file of the cache, which does not exist. Later versions correct such addresses.
//
// Code in a classic script, or in a worker that was started from a blob, may have no address. The address is therefore
// computed only when it is needed, because the caller may have named the files.

/** Matches the folder in which Vite caches the bundled dependencies of a project. */
const CACHE = /\/node_modules\/\.vite\/deps\/[^/]*$/;

/** Returns the package's folder if a bundler has moved the modules out of it, but not the given file. */
export function folderLeft(file: URL): URL | null {
  return CACHE.test(file.pathname) ? new URL('../../ctx-storage/dist/', file) : null;
}

/** Returns the package's folder if a bundler has moved this code out of it, but not the package's files. */
export function folderLeftBehind(): URL | null {
  const file = fileBeside();
  return file === null ? null : folderLeft(file);
}

/** Returns the address of this package's SQLite; null if this code has no address. */
export function ownWasmUrl(): URL | null {
  const folder = folderLeftBehind();
  return folder === null ? fileBeside() : new URL('sqlite3.wasm', folder);
}

/** Makes the error of code that has no address and whose caller did not name the files. */
export function noAddress(options: string): Error {
  return new TypeError(
    'this script has no address beside which the files of ctx-storage could lie, as in a bundle of one classic ' +
      `script. Pass their addresses (${options}).`,
  );
}

function fileBeside(): URL | null {
  try {
    return new URL('../../../worker/engine/vfs/sqlite3.wasm', import.meta.url);
  } catch {
    return null;
  }
}
