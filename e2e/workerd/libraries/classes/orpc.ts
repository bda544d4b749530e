// Uses oRPC inside an object: procedures with middleware and typed errors, over fetch, and an event iterator.

import { DurableObject } from 'cloudflare:workers';
import { createRouterClient, ORPCError, os } from '@orpc/server';
import { RPCHandler } from '@orpc/server/fetch';

export class Orpc extends DurableObject {
  readonly #router = this.#build();

  #build() {
    const { storage } = this.ctx;
    const base = os.use(({ next }) => next({ context: { storage } }));
    return {
      put: base.handler(async ({ input, context }) => {
        const [key, value] = input as [string, unknown];
        await context.storage.put(key, value);
        return context.storage.get(key);
      }),
      fail: base.errors({ TAKEN: { message: 'taken' } }).handler(({ errors }) => {
        throw errors.TAKEN();
      }),
      missing: base.handler(() => {
        throw new ORPCError('NOT_FOUND', { message: 'nothing here' });
      }),
      count: base.handler(async function* () {
        for (const value of [1, 2, 3]) yield { value };
      }),
    };
  }

  override async fetch(request: Request): Promise<Response> {
    const handler = new RPCHandler(this.#router);
    const { response } = await handler.handle(request, { prefix: '/rpc', context: {} });
    return response ?? new Response('no procedure', { status: 404 });
  }

  async run(): Promise<unknown> {
    const client = createRouterClient(this.#router);
    const post = async (path: string, json?: unknown) => {
      const body = JSON.stringify({ json });
      const headers = { 'content-type': 'application/json' };
      const response = await this.fetch(
        new Request(`http://orpc/rpc/${path}`, { method: 'POST', headers, body }),
      );
      return [response.status, response.headers.get('content-type'), await response.text()];
    };
    const counted: unknown[] = [];
    for await (const part of await client.count()) counted.push(part);
    return {
      put: await client.put(['a', { when: new Date(0).toISOString() }] as never),
      fail: await client.fail().then(
        () => 'none',
        (error) => [error.code, error.message],
      ),
      counted,
      overFetch: await post('put', ['b', [1, 2]]),
      missing: await post('missing'),
      events: await post('count'),
      unknown: await post('nothing'),
    };
  }
}
