import { expect, test, vi } from 'vitest';
import { sendWasm } from './client-code.ts';

const worker = () => ({
  postMessage: vi.fn(),
  addEventListener: vi.fn(),
  removeEventListener: vi.fn(),
});
const file = (type: string) => `data:${type};base64,AGFzbQEAAAA=`;

test('[START7] the page tells its worker that the file comes, and sends it compiled', async () => {
  const own = worker();
  const url = file('application/wasm');
  const sent = sendWasm(own, url);
  expect(own.postMessage.mock.calls).toEqual([[{ type: 'wasm', url }]]);
  await sent;
  expect(own.postMessage).toHaveBeenCalledTimes(2);
  const [message] = own.postMessage.mock.lastCall!;
  expect(message).toMatchObject({ type: 'wasm', url, module: expect.any(WebAssembly.Module) });
});

test.for([
  ['of another type', file('text/plain')],
  ['that is not WebAssembly', 'data:application/wasm,nothing'],
  ['that cannot be fetched', 'nowhere:file'],
])('[START7] a file %s is left to the worker', async ([, url]) => {
  const own = worker();
  await sendWasm(own, url!);
  expect(own.postMessage).toHaveBeenLastCalledWith({ type: 'wasm', url, module: null });
});
