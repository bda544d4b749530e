// Rate limits, on a clock that the test moves.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createObjects } from '../../../../worker/start/entries/node-objects.ts';
import { rateLimit } from '../index.ts';

/** Values of the app's code, which these tests use without types. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

const START = Date.UTC(2030, 0, 1);

/**
 * Starts a host with rate limits. `take` calls `limit` with the key, and returns whether the call is within the limit.
 */
async function hostOf(bindings: object, options: object = {}) {
  const fetch = async (request: Request, env: Untyped) => {
    const [, binding, key] = new URL(request.url).pathname.split('/');
    return Response.json((await env[binding!].limit({ key })).success);
  };
  const { worker, ...host } = await createObjects(
    {},
    { exports: { default: { fetch } }, bindings: bindings as never, ...options },
  );
  await host.clock.set(START);
  const take = async (binding: string, key: string) =>
    (await worker.fetch(`http://here/${binding}/${key}`)).json();
  return { ...host, take };
}

test.for([10, 60] as const)(
  '[BRL2] a count of %s seconds ends with its period, by the clock of the objects',
  async (period) => {
    const bindings = { A: rateLimit({ limit: 2, period }), DATA: 'RateLimitObject' };
    const { take, clock, storage, env, close } = await hostOf(bindings);
    expect([await take('A', 'x'), await take('A', 'x'), await take('A', 'x')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(await take('A', 'y')).toBe(true);
    await clock.advance(period * 1000 - 1);
    expect(await take('A', 'x')).toBe(false);
    await clock.advance(1);
    expect(await take('A', 'x')).toBe(true);
    const data = await storage((env as Untyped).DATA.getByName('A'));
    expect(await data.sql.exec('SELECT key, count FROM calls').toArray()).toEqual([
      { key: 'x', count: 1 },
    ]);
    await close();
  },
);

test('[BRL3] counts outlive the host, and belong to the name of the binding or its id', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'rate-'));
  const bindings = {
    A: rateLimit({ limit: 1 }),
    B: rateLimit({ limit: 1 }),
    C: rateLimit({ limit: 1, id: 'A' }),
  };
  const first = await hostOf(bindings, { directory });
  expect(await first.take('A', 'x')).toBe(true);
  await first.close();
  const second = await hostOf(bindings, { directory });
  expect(await second.take('A', 'x')).toBe(false);
  expect(await second.take('B', 'x')).toBe(true);
  expect(await second.take('C', 'x')).toBe(false);
  await second.close();
  rmSync(directory, { recursive: true });
});

test.for<[fact: string, options: object, message: string]>([
  ['a limit of 0', { limit: 0 }, 'limit of binding A is 0; give a number that is greater than 0.'],
  ['no limit', {}, 'limit of binding A is undefined'],
  ['a period of 30', { limit: 1, period: 30 }, 'period of binding A is 30; give 10 or 60 seconds.'],
])('[BRL4] %s fails the start, by its name', async ([, options, message]) => {
  await expect(hostOf({ A: rateLimit(options as never) })).rejects.toMatchObject({
    code: 'CLASS_INVALID',
    message: expect.stringContaining(message),
  });
});
