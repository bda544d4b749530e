// Where the instrumented SQLite lies, in the form bundlers recognise; the package build rewrites it.

export const WASM_URL = new URL('../vfs/sqlite3.wasm', import.meta.url);
