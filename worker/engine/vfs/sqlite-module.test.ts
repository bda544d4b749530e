// The errors of a worker that cannot load SQLite, and that the next attempt begins again.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test, vi } from 'vitest';
import { loadSqliteInNode } from '../../../packages/testing/worker/sqlite.ts';
import { loadSqlite } from './sqlite-module.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
});

test('[PKG4] a page in place of the WebAssembly is named, with the setting to change', async () => {
  const address = new URL('data:text/html,<!doctype html><title>An app</title>');
  await expect(loadSqlite(address)).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringMatching(
      /^Loading SQLite: data:text\/html.* is text\/html, not WebAssembly\..*exclude: \['ctx-storage'\]/,
    ),
  });
});

test('[PKG4] an empty file is not WebAssembly', async () => {
  await expect(loadSqlite(new URL('data:application/wasm,'))).rejects.toThrow(
    'Loading SQLite: data:application/wasm, is application/wasm, not WebAssembly.',
  );
});

/** Serves one answer to every request, at the address that it returns. */
async function serving(
  status: number,
  body: Uint8Array,
): Promise<{ address: URL; close: () => void }> {
  const server = createServer((_, response) => response.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { address: new URL(`http://127.0.0.1:${port}/sqlite3.wasm`), close: () => server.close() };
}

test('[PKG4] an address that answers with an error is named, with the status', async () => {
  const { address, close } = await serving(404, new TextEncoder().encode('none'));
  await expect(loadSqlite(address)).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: `Loading SQLite: ${address} answered 404.`,
  });
  close();
});

test('[PKG4] a file that says nothing of its type is named as such', async () => {
  const { address, close } = await serving(200, new TextEncoder().encode('wasm?'));
  await expect(loadSqlite(address)).rejects.toThrow(
    `${address} is an unknown type, not WebAssembly`,
  );
  close();
});

const HEADER = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
// One type of function, and an import of it that nobody has.
const WANTING = [...HEADER, 1, 4, 1, 0x60, 0, 0, 2, 7, 1, 1, 0x78, 1, 0x79, 0, 0];

test.each([
  ['is damaged', [1, 2, 3, 4], /^Loading SQLite failed: .*WebAssembly/],
  ['is of another program', HEADER, /^Loading SQLite failed: /],
  ['wants what nobody has', WANTING, /^Loading SQLite failed: .*mport/],
])('[PKG4] WebAssembly that %s is WORKER_FAILED with the cause', async (_, bytes, message) => {
  await expect(loadSqlite(Uint8Array.from(bytes))).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringMatching(message),
    cause: expect.any(Error),
  });
});

test("[SQL20] SQLite's own build, which counts no rows, is refused with the way out", async () => {
  const official = new URL(import.meta.resolve('@sqlite.org/sqlite-wasm/sqlite3.wasm'));
  await expect(loadSqlite(new Uint8Array(await readFile(official)))).rejects.toMatchObject({
    code: 'WORKER_FAILED',
    message: expect.stringMatching(/not the one of this package; use the file it ships/),
  });
});

test('[SQL20] after a failure SQLite can be loaded, from a compiled module too; then everybody has the same', async () => {
  await expect(loadSqlite(Uint8Array.from([1, 2, 3, 4]))).rejects.toThrow(/Loading SQLite failed/);
  const bytes = await readFile(new URL('./sqlite3.wasm', import.meta.url));
  const loaded = await loadSqlite(await WebAssembly.compile(bytes));
  expect(await loadSqliteInNode()).toBe(loaded);
  // A million counters of four bytes, and the three that the last instruction has beyond them.
  const end = loaded.countTable + 4 * (1_048_576 + 3);
  expect(loaded.memory.u8.subarray(loaded.countTable, end).findIndex((byte) => byte !== 0)).toBe(
    -1,
  );
});
