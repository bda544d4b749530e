// SQLite's WebAssembly, without which nothing here runs: npm's script `prepare` writes it, unless scripts are off.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const WASM = new URL('../../worker/engine/vfs/sqlite3.wasm', import.meta.url);

/** @throws if it is missing */
export function requireWasm(file: URL = WASM): void {
  if (existsSync(file)) return;
  throw new Error(
    `${fileURLToPath(file)} is missing, as after \`npm ci --ignore-scripts\`. Run \`npm run prepare\`, which writes it.`,
  );
}
