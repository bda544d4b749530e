import { expect, test } from 'vitest';
import { folderLeft } from './wasm-url.ts';

test.each([
  [
    'http://localhost:5173/node_modules/.vite/deps/sqlite3.wasm',
    'http://localhost:5173/node_modules/ctx-storage/dist/',
  ],
  [
    'http://localhost/app/node_modules/.vite/deps/sqlite3.wasm?v=1',
    'http://localhost/app/node_modules/ctx-storage/dist/',
  ],
  [
    'http://localhost/@fs/a/node_modules/.vite/deps/sqlite3.wasm',
    'http://localhost/@fs/a/node_modules/ctx-storage/dist/',
  ],
  ['http://localhost/node_modules/ctx-storage/dist/sqlite3.wasm', undefined],
  ['http://localhost/assets/sqlite3-Bx1.wasm', undefined],
  ['https://a.test/deps/sqlite3.wasm', undefined],
  ['file:///a/ctx-storage/dist/sqlite3.wasm', undefined],
])('[PKG3] files beside modules that were moved to a cache: %s', (address, folder) => {
  expect(folderLeft(new URL(address))?.href).toBe(folder);
});
