import { expect, test } from 'vitest';
import { requireWasm } from './required-wasm.ts';

test('without the WebAssembly that `prepare` writes, the command that writes it is named', () => {
  expect(() => requireWasm()).not.toThrow();
  const missing = new URL('none.wasm', import.meta.url);
  expect(() => requireWasm(missing)).toThrow(/none\.wasm is missing.*Run `npm run prepare`/);
});
