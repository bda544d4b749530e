import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { COUNT_TABLE, COUNTED_STATEMENT } from '../count-table.ts';
import { instrumentWasm } from './instrument-wasm.ts';

const packageFile = createRequire(import.meta.url).resolve('@sqlite.org/sqlite-wasm/package.json');
const official = new Uint8Array(readFileSync(join(dirname(packageFile), 'dist/sqlite3.wasm')));

test('[SQL20] the module stays valid, grows by little and exports two more globals', async () => {
  const instrumented = instrumentWasm(official);
  expect(instrumented.length - official.length).toBeLessThan(512);
  const [before, after] = await Promise.all(
    [official, instrumented].map((b) => WebAssembly.compile(b)),
  );
  const names = (module: WebAssembly.Module) =>
    WebAssembly.Module.exports(module).map((entry) => entry.name);
  expect(names(after!)).toEqual([...names(before!), COUNTED_STATEMENT, COUNT_TABLE]);
});

test('[SQL20] the same bytes give the same bytes, and are left alone', () => {
  const copy = official.slice();
  expect(Buffer.compare(instrumentWasm(copy), instrumentWasm(copy))).toBe(0);
  expect(Buffer.compare(copy, official)).toBe(0);
});

test('[SQL20] the file that is loaded is the instrumented build of the installed package', () => {
  const written = readFileSync(new URL('../sqlite3.wasm', import.meta.url));
  expect(Buffer.compare(written, instrumentWasm(official))).toBe(0);
});

test('[SQL20] a module in which the dispatch is not found exactly once is refused', () => {
  expect(() => instrumentWasm(instrumentWasm(official))).toThrow(/dispatch was found 0 times/);
});

test('[SQL20] a module in which the question about tables is not found exactly once is refused', () => {
  // SQLITE_READ, the number of the question, becomes another one.
  const other = official.slice();
  const asks = [0x41, 20];
  for (let at = 0; at < other.length - 1; at++) {
    if (other[at] === asks[0] && other[at + 1] === asks[1]) other[at + 1] = 21;
  }
  expect(() => instrumentWasm(other)).toThrow(/question about .* was found 0 times/);
});

test('[SQL20] a file that is cut off is refused', () => {
  expect(() => instrumentWasm(official.subarray(0, official.length / 2))).toThrow();
});
