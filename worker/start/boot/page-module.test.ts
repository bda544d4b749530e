import { expect, test } from 'vitest';
import type { WasmMessage } from '../../../src/shared/contract/wasm-message.ts';
import { PageModule } from './page-module.ts';

const ADDRESS = 'https://app.test/sqlite3.wasm';
const FILE = new URL(ADDRESS);
const MODULE = new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));

function listening() {
  const scope = new EventTarget();
  const modules = new PageModule(scope as unknown as ConstructorParameters<typeof PageModule>[0]);
  const tell = (message: WasmMessage | { readonly type: 'start' } | null) =>
    scope.dispatchEvent(new MessageEvent('message', { data: message }));
  return { modules, tell };
}

test('[START7] a module that the page loads is waited for, and given once', async () => {
  const { modules, tell } = listening();
  tell({ type: 'wasm', url: ADDRESS });
  const asked = modules.of(ADDRESS);
  tell({ type: 'wasm', url: ADDRESS, module: MODULE });
  expect(await asked).toBe(MODULE);
  expect(await modules.of(ADDRESS)).toEqual(FILE);
});

test('[START7] a page that loads nothing, fails, or loads from elsewhere leaves it to the worker', async () => {
  const { modules, tell } = listening();
  tell(null);
  tell({ type: 'start' });
  expect(await modules.of(ADDRESS)).toEqual(FILE);
  tell({ type: 'wasm', url: 'https://other.test/sqlite3.wasm' });
  expect(await modules.of(ADDRESS)).toEqual(FILE);
  tell({ type: 'wasm', url: ADDRESS });
  tell({ type: 'wasm', url: ADDRESS, module: null });
  expect(await modules.of(ADDRESS)).toEqual(FILE);
});
