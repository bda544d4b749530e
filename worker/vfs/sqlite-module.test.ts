import { expect, test } from 'vitest';
import { loadSqlite } from './sqlite-module.ts';

test('[PKG4] a page in place of the WebAssembly is named, with what to set', async () => {
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
