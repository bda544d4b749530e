// Instruments the official build of the pinned package and writes it to worker/engine/vfs/sqlite3.wasm.
//
// Runs as npm's `prepare` script. Refuses any other version of the package, because the layout of SQLite's
// structures (vfs/vdbe-layout) is that of this build.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { instrumentWasm } from './instrument-wasm.ts';

const PACKAGE_VERSION = '3.53.4-build2';

const require = createRequire(import.meta.url);
const packageFile = require.resolve('@sqlite.org/sqlite-wasm/package.json');
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };
if (version !== PACKAGE_VERSION) {
  throw new Error(
    `@sqlite.org/sqlite-wasm ${version} is installed, but ${PACKAGE_VERSION} is required. Install that ` +
      'version, or update worker/engine/vfs/vdbe-layout.ts and PACKAGE_VERSION in this file together.',
  );
}

const official = readFileSync(join(dirname(packageFile), 'dist/sqlite3.wasm'));
const instrumented = instrumentWasm(official);
const target = join(dirname(fileURLToPath(import.meta.url)), '../sqlite3.wasm');
writeFileSync(target, instrumented);
console.log(
  `sqlite3.wasm ${version}: ${official.length} bytes read, ${instrumented.length} written.`,
);
