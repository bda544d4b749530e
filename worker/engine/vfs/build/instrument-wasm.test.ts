import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { COUNT_TABLE, COUNTED_STATEMENT } from '../count-table.ts';
import { instrumentWasm } from './instrument-wasm.ts';
import { only } from './wasm-code.ts';

const packageFile = createRequire(import.meta.url).resolve('@sqlite.org/sqlite-wasm/package.json');
const official = new Uint8Array(readFileSync(join(dirname(packageFile), 'dist/sqlite3.wasm')));

test('[SQL20] the module stays valid, grows by little and exports two more globals', async () => {
  const instrumented = instrumentWasm(official);
  expect(instrumented.length - official.length).toBeLessThan(512);
  const [before, after] = await Promise.all(
    [official, instrumented].map((b) => WebAssembly.compile(b)),
  );
  expect(WebAssembly.Module.exports(after!)).toEqual([
    ...WebAssembly.Module.exports(before!),
    { name: COUNTED_STATEMENT, kind: 'global' },
    { name: COUNT_TABLE, kind: 'global' },
  ]);
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

test('[SQL20] a module without the dispatch, as an instrumented one is, is refused', () => {
  expect(() => instrumentWasm(instrumentWasm(official))).toThrow(/dispatch was found 0 times/);
});

test('[SQL20] a module without the question about tables is refused', () => {
  // SQLITE_READ, the number of the question, becomes another one.
  const other = official.slice();
  const asks = [0x41, 20];
  for (let at = 0; at < other.length - 1; at++) {
    if (other[at] === asks[0] && other[at + 1] === asks[1]) other[at + 1] = 21;
  }
  expect(() => instrumentWasm(other)).toThrow(/question about .* was found 0 times/);
});

test('[SQL20] a place that is found twice is refused like one that is not found', () => {
  expect(() => only([7, 9], 'the place')).toThrow(/the place was found 2 times instead of once/);
  expect(only([7], 'the place')).toBe(7);
});

test('[SQL20] a file that is cut off is refused as such', () => {
  const half = official.subarray(0, official.length / 2);
  expect(() => instrumentWasm(half)).toThrow(/the file is cut off/);
});
