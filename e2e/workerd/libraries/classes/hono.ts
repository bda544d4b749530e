// A Hono app inside an object: routes, middleware, validation of JSON, streams, errors.

import { DurableObject } from 'cloudflare:workers';
import { Hono as App } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { HTTPException } from 'hono/http-exception';
import { streamText } from 'hono/streaming';

export class Hono extends DurableObject {
  readonly #app = new App()
    .use(async (context, next) => {
      await next();
      context.header('x-served-by', 'hono');
    })
    .get('/notes/:id', async (context) => {
      const note = await this.ctx.storage.get(context.req.param('id'));
      return note === undefined ? context.notFound() : context.json({ note });
    })
    .put('/notes/:id', async (context) => {
      await this.ctx.storage.put(context.req.param('id'), await context.req.json());
      return context.body(null, 204);
    })
    .get('/cookie', (context) => {
      setCookie(context, 'seen', 'yes', { path: '/', httpOnly: true });
      return context.text(getCookie(context, 'before') ?? 'none');
    })
    .get('/query', (context) => context.json(context.req.queries()))
    .get('/stream', (context) =>
      streamText(context, async (stream) => {
        for (const part of ['a', 'b', 'c']) {
          await stream.write(part);
          await stream.sleep(1);
        }
      }),
    )
    .get('/fail', () => {
      throw new HTTPException(418, { message: 'a teapot' });
    });

  override fetch(request: Request): Response | Promise<Response> {
    return this.#app.fetch(request);
  }

  async run(): Promise<unknown> {
    const ask = async (path: string, init?: RequestInit) => {
      const response = await this.fetch(new Request(`http://notes${path}`, init));
      const { status, headers } = response;
      const names = ['content-type', 'set-cookie', 'x-served-by'];
      return [status, names.map((name) => headers.get(name)), await response.text()];
    };
    return {
      missing: await ask('/notes/1'),
      put: await ask('/notes/1', { method: 'PUT', body: '{"text":"hé"}' }),
      get: await ask('/notes/1'),
      cookie: await ask('/cookie'),
      query: await ask('/query?a=1&a=2&b=%20'),
      stream: await ask('/stream'),
      fail: await ask('/fail'),
      unknown: await ask('/nowhere'),
    };
  }
}
