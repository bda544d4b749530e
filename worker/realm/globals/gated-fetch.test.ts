import { expect, test } from 'vitest';
import type { IoContext } from '../../../src/shared/calls/io/io-context.ts';
import { installFetch } from './gated-fetch.ts';

/**
 * A scope whose requests are answered, and the messages that the asking object receives through its
 * gate.
 */
function install() {
  const scope = { fetch: async () => new Response('text') } as unknown as typeof globalThis;
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

test('[GATE4] the body of an answer comes back through the gate, also from a clone of a clone', async () => {
  const { scope, received } = install();
  const response = await scope.fetch('https://site/');
  const copy = response.clone().clone();
  expect([await response.text(), await copy.text()]).toEqual(['text', 'text']);
  expect(received).toEqual(['text', 'text']);
});
