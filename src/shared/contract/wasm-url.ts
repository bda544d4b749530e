// Where the package's files lie: beside the code that runs, in the form that bundlers recognise; the package build
// rewrites the address.
//
// Vite 7 bundles the modules of a dependency into a cache and leaves the files beside them behind, so the
// form names a file of the cache, which does not exist. Later versions correct such addresses.
//
// Code in a classic script, or in a worker that was started from a blob, may have no address. It is asked for when it is
// needed and not when this module is loaded, because the caller may name the files.

/** Where Vite keeps the bundled dependencies of a project: beside the dependencies themselves. */
const CACHE = /\/node_modules\/\.vite\/deps\/[^/]*$/;

/** The package's folder, if the modules were moved from it and the file was not. */
export function folderLeft(file: URL): URL | null {
  return CACHE.test(file.pathname) ? new URL('../../ctx-storage/dist/', file) : null;
}

/** The package's folder, if this code was moved from it and its files were not. */
export function folderLeftBehind(): URL | null {
  const file = fileBeside();
  return file === null ? null : folderLeft(file);
}

/** The instrumented SQLite; null if this code has no address. */
export function ownWasmUrl(): URL | null {
  const folder = folderLeftBehind();
  return folder === null ? fileBeside() : new URL('sqlite3.wasm', folder);
}

/** The error of code that has no address and was named none. */
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
