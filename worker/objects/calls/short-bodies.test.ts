// Short texts travel with their message; to code they are bodies like any other.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Objects } from '../../../src/shared/contract/object-management.ts';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';

/** Increasing numbers: two chunks that change places, or a repeated chunk, make another text. */
const LONG = Array.from({ length: 10_000 }, (_, i) => i).join('ü');

class Messages extends DurableObject {
  kept: Response | undefined;

  async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case '/text':
        this.kept = new Response('text');
        return this.kept;
      case '/clone':
        this.kept = new Response('cloned');
        return this.kept.clone();
      case '/long':
        return new Response(LONG);
      case '/json':
        return Response.json({ a: [1] }, { status: 201, headers: { 'content-type': 'x/y' } });
      case '/refused':
        return new Response(
          [() => Response.json(1n), () => Response.json(1, { status: 204 })]
            .map((make) => {
              try {
                return make().status;
              } catch (error) {
                return (error as Error).name;
              }
            })
            .join(),
        );
      case '/empty':
        return new Response('');
      case '/again':
        return new Response(`${this.kept!.bodyUsed}`);
      case '/kept':
        return new Response(await this.kept!.text());
      case '/twice': {
        const response = new Response('once');
        await response.text();
        return response;
      }
      case '/forward':
        return this.#other.fetch('http://a/text');
      case '/echo':
        return new Response(
          `${request.bodyUsed} ${await request.clone().text()} ${await request.text()}`,
        );
      case '/pass':
        return this.#other.fetch(new Request('http://a/echo', request));
      default:
        return new Response(request.body);
    }
  }

  get #other(): { fetch(input: Request | string): Promise<Response> } {
    const { Messages } = this.env as { Messages: { getByName(name: string): never } };
    return Messages.getByName('other');
  }
}

let objects: Objects<{ Messages: typeof Messages }>;
beforeEach(async () => {
  objects = await createObjects({ Messages });
});
afterEach(() => objects.close());

const fetched = (path: string, init?: RequestInit) =>
  objects.env.Messages.getByName('a').fetch(
    `http://a${path}`,
    init,
  ) as unknown as Promise<Response>;

test.for([
  ['/text', 'text'],
  ['/clone', 'cloned'],
  ['/long', LONG],
  ['/empty', ''],
  ['/json', '{"a":[1]}'],
  ['/refused', 'TypeError,TypeError'],
  ['/forward', 'text'],
])('[STUB39] %s arrives whole, and is read once', async ([path, text]) => {
  const response = await fetched(path!);
  const clone = response.clone();
  expect(response.bodyUsed).toBe(false);
  expect(await response.text()).toBe(text);
  expect(response.bodyUsed).toBe(true);
  await expect(response.text()).rejects.toThrow(TypeError);
  expect(await new Response(clone.body).text()).toBe(text);
});

test('[STUB39] a message that was sent counts as read; its clone, and the original of a sent clone, do not', async () => {
  await fetched('/text');
  expect(await (await fetched('/again')).text()).toBe('true');
  await fetched('/clone');
  expect(await (await fetched('/again')).text()).toBe('false');
  expect(await (await fetched('/kept')).text()).toBe('cloned');
  await expect(fetched('/twice')).rejects.toThrow('was read already');
});

test.for(['/echo', '/pass'])('[STUB39] the text of a request arrives at %s', async (path) => {
  const response = await fetched(path, { method: 'POST', body: 'given' });
  expect(await response.text()).toBe('false given given');
  expect(await (await fetched('/', { method: 'POST', body: 'back' })).text()).toBe('back');
});
