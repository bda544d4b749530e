// Mistakes that workerd refuses: a host must not accept them.

import { expect, test } from 'vitest';
import { r2 } from '../../../packages/workers/bindings/index.ts';
import { codeDigest } from '../../start/boot/deployment-order.ts';
import { createObjects, DurableObject, waitUntil } from '../../start/entries/node-objects.ts';
import { ClassRegistry } from './object-class.ts';

/** A value in the code of an app, which has types of its own. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

/** The answer of code in an event. */
async function inside(see: (env: Untyped) => unknown): Promise<unknown> {
  const main = { fetch: async (_: Request, env: Untyped) => Response.json(await see(env)) };
  const options = { exports: { default: main }, bindings: { FILES: r2() } };
  const { worker, close } = await createObjects({}, options);
  try {
    return await (await worker.fetch('http://x/')).json();
  } finally {
    await close();
  }
}

const wordsOf = (call: () => unknown) => {
  try {
    return String(call());
  } catch (error) {
    return String(error);
  }
};

test.each(['proxy', 'copy'])(
  '[NODE30] an object that gives its base class a %s of ctx fails',
  async (kind) => {
    class Box extends DurableObject {
      constructor(ctx: Untyped, env: object) {
        super(
          kind === 'proxy' ? new Proxy(ctx, {}) : { ...ctx, id: ctx.id, storage: ctx.storage },
          env,
        );
      }
      hi(): string {
        return 'hi';
      }
    }
    const { env, close } = await createObjects({ Box });
    await expect(env.Box.getByName('a').hi()).rejects.toThrow(
      "Failed to construct 'DurableObjectBase': constructor parameter 1 is not of type 'DurableObjectState'.",
    );
    await close();
    // A test may construct the class itself, with whatever its methods use.
    expect(new Box({ id: 'b' }, {}).hi()).toBe('hi');
  },
);

test('[NODE30] an object may give its base class an object that inherits from ctx, whose members are those of ctx', async () => {
  class Box extends DurableObject {
    constructor(ctx: Untyped, env: object) {
      super(Object.create(ctx, { added: { value: 'added' } }), env);
    }
    see(): unknown[] {
      const { id, storage, added, exports, facets, props } = this.ctx as Untyped;
      return [id.name, storage.kv.get('a') ?? null, added, typeof exports, typeof facets, props];
    }
  }
  const { env, close } = await createObjects({ Box });
  expect(await env.Box.getByName('a').see()).toEqual(['a', null, 'added', 'object', 'object', {}]);
  await close();
});

test('[NODE32] a class, and a handler, may be a proxy that shows none of its members, as an SDK makes it', async () => {
  class Plain {
    fetch(): Response {
      return new Response('plain');
    }
  }
  const handlers = { fetch: new Proxy(new Plain().fetch, { get: () => undefined }) };
  const Box = new Proxy(Plain, { get: () => undefined, construct: () => handlers });
  expect(await codeDigest('x', new ClassRegistry({ Box }, {}))).toHaveLength(32);
  const fetch = new Proxy(() => new Response('entry'), { get: () => undefined });
  const exports = { Box, default: { fetch } };
  const { env, worker, close } = await createObjects({ Box }, { exports });
  expect(await (await worker.fetch('http://x/')).text()).toBe('entry');
  expect(await (await (env.Box.getByName('a') as Untyped).fetch('http://x/')).text()).toBe('plain');
  await close();
});

test('[NODE30] fetch as a method of another object is an illegal invocation in an event, and not outside', async () => {
  const seen = await inside(() => {
    const held = { fetch };
    return [wordsOf(() => held.fetch('data:,a')), wordsOf(() => fetch('data:,a'))];
  });
  expect(seen).toEqual([
    expect.stringMatching(/^TypeError: Illegal invocation: /),
    '[object Promise]',
  ]);
  const held = { fetch };
  expect(await (await held.fetch('data:,a')).text()).toBe('a');
});

test('[NODE30] the import waitUntil takes any value, and refuses none', async () => {
  const seen = await inside(() => [
    wordsOf(() => (waitUntil as Untyped)(undefined)),
    wordsOf(() => (waitUntil as Untyped)()),
  ]);
  expect(seen).toEqual([
    'undefined',
    expect.stringMatching(/^TypeError: Failed to execute 'waitUntil'/),
  ]);
});

test("[NODE30] a request's redirect, cache and integrity that workerd refuses are refused in an event, and not outside", async () => {
  const refused = [{ redirect: 'error' }, { cache: 'reload' }, { integrity: 'sha256-a' }];
  const taken = [{ redirect: 'manual' }, { cache: 'no-store' }, { integrity: '' }];
  const requested = (inits: readonly object[]) =>
    inits.map((init) => wordsOf(() => new Request('http://a/', init)).split(':')[0]);
  expect(await inside(() => [requested(refused), requested(taken)])).toEqual([
    ['TypeError', 'TypeError', 'TypeError'],
    ['[object Request]', '[object Request]', '[object Request]'],
  ]);
  expect(requested([{ redirect: 'error' }])).toEqual(['[object Request]']);
});

test('[BRT10] the range of an object of R2 has the keys that it has on workerd', async () => {
  const seen = await inside(async ({ FILES }) => {
    await FILES.put('k', '0123456789');
    const { range } = await FILES.get('k', { range: { offset: 2, length: 3 } });
    return [Object.keys(range), range];
  });
  expect(seen).toEqual([['offset', 'length', 'suffix'], { offset: 2, length: 3 }]);
});
