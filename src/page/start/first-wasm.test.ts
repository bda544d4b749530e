import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { namesOf } from '../../shared/wire/control.ts';
import { isLed, sendWasm } from './client-code.ts';

const worker = () => ({
  postMessage: vi.fn(),
  addEventListener: vi.fn(),
  removeEventListener: vi.fn(),
});
const file = (type: string) => `data:${type};base64,AGFzbQEAAAA=`;

test('[START7] the page tells its worker that the file comes, and sends it compiled', async () => {
  const own = worker();
  const url = file('application/wasm');
  const sent = sendWasm(own, url, Promise.resolve(false));
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
  await sendWasm(own, url!, Promise.resolve(false));
  expect(own.postMessage).toHaveBeenLastCalledWith({ type: 'wasm', url, module: null });
});

test('[START7] a file for a worker that will wait behind another one is left to it', async () => {
  const own = worker();
  const url = file('application/wasm');
  await sendWasm(own, url, Promise.resolve(true));
  expect(own.postMessage).toHaveBeenLastCalledWith({ type: 'wasm', url, module: null });
});

test.for(['no answer', 'half an answer'])(
  '[START7] a file of which %s comes within 20 s is left to the worker',
  async (what) => {
    const server = createServer((_, response) => {
      if (what === 'no answer') return;
      response.writeHead(200, { 'content-type': 'application/wasm', 'content-length': 100 });
      response.write('half');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const over = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(over.signal);
    const own = worker();
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/sqlite3.wasm`;
    const asked = new Promise((resolve) => void server.once('request', resolve));
    const sent = sendWasm(own, url, Promise.resolve(false));
    await asked;
    expect(timeout.mock.calls).toEqual([[20_000]]);
    expect(own.postMessage).toHaveBeenCalledTimes(1);
    over.abort();
    await sent;
    expect(own.postMessage).toHaveBeenLastCalledWith({ type: 'wasm', url, module: null });
    timeout.mockRestore();
    server.closeAllConnections();
    server.close();
  },
);

test('[START7] a worker leads if it holds the lock of the directory', async () => {
  const held = [{ name: namesOf('mine').leaderLock }];
  const locks = { query: async () => ({ held }) };
  expect(await isLed('mine', locks)).toBe(true);
  expect(await isLed('other', locks)).toBe(false);
  expect(await isLed('mine', { query: () => Promise.reject(new Error('opaque origin')) })).toBe(
    false,
  );
  expect(await isLed('mine', undefined)).toBe(false);
});
