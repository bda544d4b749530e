// Entry points beside the objects of a host.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import {
  createObjects,
  DurableObject,
  WorkerEntrypoint,
  WorkflowEntrypoint,
} from '../../start/entries/node-objects.ts';

/** A value in the code of an app, which has types of its own. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

const TOLD = { Wall: class extends DurableObject {} };

test('[ENTRY3] an entry point that does not exist is UNKNOWN_CLASS, and the error lists the others', async () => {
  const { worker, entrypoint, close } = await createObjects(TOLD, {
    exports: {
      ...TOLD,
      Admin: class extends WorkerEntrypoint {},
      Flow: class extends WorkflowEntrypoint {},
      count: 5,
    },
  });
  await expect(worker.fetch('http://a/')).rejects.toMatchObject({
    code: 'UNKNOWN_CLASS',
    message: expect.stringContaining('no entry point "default"; it has: Admin.'),
  });
  await expect((entrypoint('Flow') as Untyped).run()).rejects.toMatchObject({
    code: 'UNKNOWN_CLASS',
  });
  await close();
});

test.for<[fact: string, services: Record<string, unknown>, message: string]>([
  [
    'a worker',
    { A: 'nobody' },
    'A names worker "nobody", which is not given; given are: other, worker.',
  ],
  [
    'an entry point',
    { A: { service: 'other', entrypoint: 'B' } },
    'A names entry point "B" of worker "other", which has: default.',
  ],
  [
    'its own entry point',
    { A: {} },
    'A names entry point "default" of worker "worker", which has: none.',
  ],
])(
  '[ENTRY4] a service binding to %s that is missing fails the start',
  async ([, services, message]) => {
    const other = { exports: { default: { fetch: () => new Response() } } };
    await expect(
      createObjects({}, { services: services as never, workers: { other } }),
    ).rejects.toMatchObject({ code: 'CLASS_INVALID', message: expect.stringContaining(message) });
  },
);

test('[ENTRY4] a class that another worker binds and nobody serves fails the start', async () => {
  const other = { exports: {}, bindings: { WALL: 'Nope' } };
  await expect(createObjects(TOLD, { workers: { other } })).rejects.toMatchObject({
    code: 'UNKNOWN_CLASS',
    message: expect.stringContaining('no class "Nope"; it serves: Wall.'),
  });
});

test('[ENTRY4] a class that another worker binds is in its env, by the name of the binding', async () => {
  class Wall extends DurableObject {
    async write(line: string): Promise<string> {
      await this.ctx.storage.put('line', line);
      return `${this.ctx.id.name}: ${await this.ctx.storage.get('line')}`;
    }
  }
  const other = {
    bindings: { WALL: 'Wall' },
    exports: {
      default: {
        fetch: async (_: Request, env: Untyped) =>
          new Response(
            `${Object.keys(env).join()} ${await env.WALL.getByName('one').write('hello')}`,
          ),
      },
    },
  };
  const { env, close } = await createObjects(
    { Wall },
    { workers: { other }, services: { OTHER: 'other' } },
  );
  const answer = await (env as Untyped).OTHER.fetch('http://other/');
  expect(await answer.text()).toBe('WALL one: hello');
  await close();
});

test('[ENTRY5] events of an entry point run side by side; a section of an object does not stop them', async () => {
  const gates: (() => void)[] = [];
  const order: string[] = [];
  const { worker, env, close } = await createObjects(
    {
      Wall: class extends DurableObject {
        hold() {
          return this.ctx.blockConcurrencyWhile(() => new Promise<void>((go) => gates.push(go)));
        }
      },
    },
    {
      exports: {
        default: {
          async fetch(request: Request, env: Untyped) {
            const { pathname } = new URL(request.url);
            order.push(`begin ${pathname}`);
            if (pathname === '/a') await env.Wall.getByName('one').hold();
            order.push(`end ${pathname}`);
            return new Response();
          },
        },
      },
    },
  );
  const first = worker.fetch('http://a/a');
  await vi.waitFor(() => expect(gates).toHaveLength(1));
  await worker.fetch('http://a/b');
  gates[0]!();
  await first;
  expect(order).toEqual(['begin /a', 'begin /b', 'end /b', 'end /a']);
  expect(env.Wall).toBeDefined();
  await close();
});

test('[ENTRY6] closing the objects ends events that run: their callers get CONNECTION_CLOSED', async () => {
  let begun = () => {};
  const running = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const { worker, close } = await createObjects(
    {},
    { exports: { default: { fetch: () => new Promise(begun) } } },
  );
  const answer = worker.fetch('http://a/');
  const refused = expect(answer).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await running;
  await close();
  await refused;
  await expect(worker.fetch('http://a/')).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
});

/** Objects with a worker whose handler throws at once or later, and may pass through before. */
const failing = (isLate: boolean, passesThrough: boolean) =>
  createObjects(
    {},
    {
      exports: {
        default: {
          fetch(_request: Request, _env: object, ctx: Untyped) {
            if (passesThrough) ctx.passThroughOnException();
            const error = new Error('of the handler');
            if (!isLate) throw error;
            return new Promise((_, reject) => setImmediate(reject, error));
          },
        },
      },
    },
  );

test.for([false, true])(
  '[ENTRY7] after passThroughOnException, a request whose handler throws goes to the network as it is; late: %s',
  async (isLate) => {
    const arrived: unknown[] = [];
    const network = createServer(async (request, response) => {
      const { method, url, headers } = request;
      arrived.push([method, url, headers['x-mark'], await textOf(request)]);
      response.end('from the network');
    });
    await new Promise<void>((resolve) => network.listen(0, '127.0.0.1', resolve));
    const { port } = network.address() as AddressInfo;
    const { worker, close } = await failing(isLate, true);
    const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
    const sent = { method: 'POST', headers: { 'x-mark': 'mine' }, body: 'of the request' };
    const response = await worker.fetch(`http://127.0.0.1:${port}/a?b=c`, sent);
    expect(await response.text()).toBe('from the network');
    expect(arrived).toEqual([['POST', '/a?b=c', 'mine', 'of the request']]);
    expect(reported.mock.calls).toMatchObject([[{}, { message: 'of the handler' }]]);
    reported.mockRestore();
    await close();
    network.close();
  },
);

test.for([false, true])(
  '[ENTRY7] without passThroughOnException, the caller gets the error of the handler; late: %s',
  async (isLate) => {
    const { worker, close } = await failing(isLate, false);
    const answer = worker.fetch('data:text/plain,from the network');
    await expect(answer).rejects.toThrow('of the handler');
    await close();
  },
);

test('[ENTRY8] a promise of waitUntil that rejects is reported', async () => {
  const { worker, close } = await createObjects(
    {},
    {
      exports: {
        default: {
          fetch(_request: Request, _env: object, ctx: Untyped) {
            ctx.waitUntil(Promise.reject(new Error('in waitUntil')));
            return new Response('answered');
          },
        },
      },
    },
  );
  const reported = vi.spyOn(console, 'error').mockImplementation(() => {});
  expect(await (await worker.fetch('http://a/')).text()).toBe('answered');
  expect(reported.mock.calls[0]![1]).toMatchObject({ message: 'in waitUntil' });
  reported.mockRestore();
  await close();
});
