// Stubs and services that other code wraps, as instrumentation does.

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import {
  createObjects,
  DurableObject,
  RpcPromise,
  RpcProperty,
  RpcStub,
  ServiceStub,
  WorkerEntrypoint,
} from '../../start/entries/node-objects.ts';

/** A stub of any kind, without types. */
// biome-ignore lint/suspicious/noExplicitAny: stubs are wrapped by code that knows no types
type Stub = any;

class Box extends DurableObject {
  fetch(): Response {
    return new Response('box');
  }

  hi(): string {
    return 'hi';
  }

  call(): () => number {
    return () => 1;
  }

  async facet(): Promise<string> {
    const { exports, facets } = this.ctx as Stub;
    const facet = facets.get('f', () => ({ class: exports.Box }));
    facet.fetch = async () => 'replaced';
    const replaced = await facet.fetch();
    delete facet.fetch;
    return [replaced, await (await facet.fetch('http://x/')).text()].join();
  }

  isFacetService(): boolean {
    const { exports, facets } = this.ctx as Stub;
    return facets.get('f', () => ({ class: exports.Box })) instanceof ServiceStub;
  }
}

class Api extends WorkerEntrypoint {
  fetch(): Response {
    return new Response('api');
  }
}

let objects: Objects<Record<string, never>>;
/** Runs in the worker. */
let inside: (see: (env: Stub, ctx: Stub) => unknown) => Promise<unknown>;

beforeAll(async () => {
  let run: (env: Stub, ctx: Stub) => unknown;
  const main = {
    async fetch(_request: Request, env: Stub, ctx: Stub) {
      return Response.json((await run(env, ctx)) ?? null);
    },
  };
  objects = (await createObjects(
    { Box },
    {
      exports: { default: main, Api, Box },
      scriptName: 'w',
      bindings: { BOX: 'Box' },
      services: { API: { service: 'w', entrypoint: 'Api' } },
    },
  )) as never;
  inside = async (see) => {
    run = see;
    return (await objects.worker.fetch('http://x/')).json();
  };
});

afterAll(() => objects.close());

const KINDS: [kind: string, of: (env: Stub, ctx: Stub) => Stub, answer: string][] = [
  ['an object', (env) => env.BOX.getByName('a'), 'box'],
  ['a service', (env) => env.API, 'api'],
  ['an export', (_env, ctx) => ctx.exports.Api, 'api'],
];

const proxied = (stub: Stub) =>
  new Proxy(stub, {
    get: (target, name) => {
      const member = Reflect.get(target, name);
      if (name !== 'fetch') return member;
      return async (...request: unknown[]) => tagged(await member.apply(target, request));
    },
  });
const tagged = async (response: Response) => new Response(`wrapped ${await response.text()}`);

test.each(KINDS)(
  '[STUB49] fetch of the stub of %s can be wrapped by a proxy, assigned, defined, inherited and restored',
  async (_kind, stubOf, answer) => {
    const seen = await inside(async (env, ctx) => {
      const text = async (stub: Stub) => (await stub.fetch('http://x/')).text();
      const stub = stubOf(env, ctx);
      const { fetch } = stub;
      const wrapper = async (...request: unknown[]) => tagged(await fetch.apply(stub, request));
      const answers = [await text(proxied(stub))];
      stub.fetch = wrapper;
      answers.push(await text(stub));
      delete stub.fetch;
      Object.defineProperty(stub, 'fetch', { value: wrapper, configurable: true });
      answers.push(await text(stub));
      delete stub.fetch;
      answers.push(await text(Object.assign(Object.create(stub), { fetch: wrapper })));
      return [...answers, await text(stub)];
    });
    const wrapped = `wrapped ${answer}`;
    expect(seen).toEqual([wrapped, wrapped, wrapped, wrapped, answer]);
  },
);

test('[STUB49] another method of a stub, onRpcBroken and a method of a namespace can be replaced', async () => {
  const seen = await inside(async (env) => {
    const stub = env.BOX.getByName('a');
    stub.hi = () => 'mine';
    stub.onRpcBroken = () => 'never';
    const { getByName } = env.BOX;
    env.BOX.getByName = (name: string) => getByName.call(env.BOX, `${name}!`);
    const { name } = env.BOX.getByName('b');
    delete env.BOX.getByName;
    return [stub.hi(), stub.onRpcBroken(), name, env.BOX.getByName('b').name];
  });
  expect(seen).toEqual(['mine', 'never', 'b!', 'b']);
});

test.each(KINDS)(
  '[STUB49] fetch that is detached from the stub of %s, or called on a proxy of it, is ILLEGAL_INVOCATION',
  async (_kind, stubOf) => {
    const seen = await inside((env, ctx) => {
      const stub = stubOf(env, ctx);
      const { fetch } = stub;
      const thrown = (call: () => unknown) => {
        try {
          call();
          return 'nothing';
        } catch (error) {
          return [error instanceof TypeError, (error as Stub).code, (error as Error).message];
        }
      };
      return [
        thrown(() => fetch('http://x/')),
        thrown(() => new Proxy(stub, {}).fetch('http://x/')),
      ];
    });
    const error = [true, 'ILLEGAL_INVOCATION', expect.stringMatching(/^Illegal invocation: /)];
    expect(seen).toEqual([error, error]);
  },
);

test('[STUB49] fetch of one stub, called on another, reaches the other', async () => {
  const seen = await inside(async (env) => {
    const stub = env.BOX.getByName('a');
    return (await stub.fetch.call(env.API, 'http://x/')).text();
  });
  expect(seen).toBe('api');
});

test('[STUB49] id and name of a stub are read-only, as on workerd', async () => {
  const seen = await inside((env) => {
    const stub = env.BOX.getByName('a');
    const isRefused = (name: string) => !Reflect.set(stub, name, 'other');
    return [isRefused('id'), isRefused('name'), Object.keys(stub), stub.name];
  });
  expect(seen).toEqual([true, true, ['name', 'id'], 'a']);
});

test('[STUB49] the stub of a facet has a fetch that can be replaced', async () => {
  expect(await inside((env) => env.BOX.getByName('a').facet())).toBe('replaced,box');
});

test('[STUB50] stubs of objects, services, exports and facets are instances of ServiceStub, a namespace is not', async () => {
  const seen = await inside(async (env, ctx) => [
    ...KINDS.map(([, stubOf]) => stubOf(env, ctx) instanceof ServiceStub),
    await env.BOX.getByName('a').isFacetService(),
    env.BOX instanceof ServiceStub,
  ]);
  expect(seen).toEqual([true, true, true, true, false]);
});

test('[STUB50] a received stub, a call and a member of a stub have the prototypes of RpcStub, RpcPromise and RpcProperty', async () => {
  const seen = await inside(async (env) => {
    const stub = env.BOX.getByName('a');
    const prototypes = [RpcStub, RpcPromise, RpcProperty].map(({ prototype }) => prototype);
    const values = [await stub.call(), stub.hi(), stub.hi, stub.hi().length, new RpcStub(() => 1)];
    return values.map((value) => prototypes.indexOf(Object.getPrototypeOf(value)));
  });
  expect(seen).toEqual([0, 1, 2, 2, 0]);
});

test.each([ServiceStub, RpcPromise, RpcProperty])('[STUB50] %o cannot be constructed', (Class) => {
  expect(() => new (Class as Stub)({})).toThrow(new TypeError('Illegal constructor'));
});
