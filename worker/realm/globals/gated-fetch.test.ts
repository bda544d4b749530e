import { expect, test } from 'vitest';
import type { IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { installFetch } from './gated-fetch.ts';

const FORM = 'application/x-www-form-urlencoded';

/** Makes a scope that answers each request, and lists the values that the object receives through its input gate. */
function install() {
  const answer = () => new Response('{"a":1}', { headers: { 'content-type': FORM } });
  const scope = { fetch: async () => answer() } as unknown as typeof globalThis;
  const received: unknown[] = [];
  const context = {
    host: { sendsStreams: true },
    send: async (start: () => unknown) => start(),
    async receive(start: () => Promise<unknown>) {
      const value = await start();
      received.push(value);
      return value;
    },
  } as unknown as IoContext;
  installFetch(scope, () => context);
  return { scope, received };
}

test('[GATE4] the body of an answer comes back through the gate by every method, also from a clone of a clone', async () => {
  const { scope, received } = install();
  const response = await scope.fetch('https://site/');
  const clone = response.clone();
  const copy = clone.clone();
  expect([await response.text(), await clone.text(), await copy.json()]).toEqual([
    '{"a":1}',
    '{"a":1}',
    { a: 1 },
  ]);
  expect(received).toEqual(['{"a":1}', '{"a":1}', { a: 1 }]);
  for (const method of ['arrayBuffer', 'blob', 'bytes', 'formData'] as const) {
    received.length = 0;
    const value = await (await scope.fetch('https://site/'))[method]();
    expect(received, method).toEqual([value]);
    expect(received[0], method).toBe(value);
  }
});
