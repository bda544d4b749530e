// A class that passes requests, responses and streams on to another object, and their state on arrival.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** The class `Post`. */
export function postOf({ DurableObject }: Bases) {
  return class Post extends DurableObject {
    declare readonly env: { readonly Post: Untyped };

    get #peer(): Untyped {
      return this.env.Post.getByName('peer');
    }

    async fetch(request: Request): Promise<Response> {
      const { pathname, search } = new URL(request.url);
      const [, first, ...rest] = pathname.split('/');
      const next = `http://post/${rest.join('/')}${search}`;
      switch (first) {
        case 'on':
          return this.#peer.fetch(new Request(next, request));
        case 'cloned': {
          const response: Response = await this.#peer.fetch(next);
          const copy = response.clone();
          return new Response((await response.text()) + (await copy.text()), response);
        }
        case 'through': {
          const { body }: Response = await this.#peer.fetch(next);
          return new Response(body!.pipeThrough(upper()));
        }
        case 'facts': {
          const { cf } = request as Untyped;
          return Response.json([cf, request.headers.get('content-length'), await request.text()]);
        }
        case 'text':
          return new Response('text', { status: 201, headers: { 'x-by': 'peer' } });
        case 'empty':
          return new Response(null, { status: 204 });
        case 'bytes':
          return new Response(this.stream());
        case 'copied': {
          const copy = new Request(request);
          return Response.json([copy.method, copy.headers.get('cookie'), await copy.text()]);
        }
        case 'twice': {
          const clone = request.clone();
          return Response.json([
            await request.text(),
            await clone.text(),
            clone.headers.get('cookie'),
          ]);
        }
        case 'cookies': {
          const headers = new Headers({ 'set-cookie': 'a=1' });
          headers.append('set-cookie', 'b=2');
          const response = new Response('cookies', { headers });
          response.headers.append('set-cookie', 'c=3');
          return response;
        }
        case 'thrown':
          throw new RangeError('in fetch');
        case 'socket': {
          const pair = new (globalThis as Untyped).WebSocketPair();
          pair[1].accept();
          pair[1].addEventListener('message', ({ data }: Untyped) => pair[1].send(`peer ${data}`));
          return new Response(null, { status: 101, webSocket: pair[0] } as ResponseInit);
        }
        default: {
          const { method, headers } = request;
          const facts = [headers.get('x-a'), headers.get('content-type')];
          return Response.json([method, pathname, search, ...facts, await request.text()]);
        }
      }
    }
    stream() {
      let count = 0;
      return new ReadableStream({
        type: 'bytes',
        pull(controller) {
          count += 1;
          if (count > 3) controller.close();
          else controller.enqueue(new TextEncoder().encode(`part ${count};`));
        },
      } as UnderlyingByteSource);
    }
    streamOn() {
      return this.#peer.stream();
    }
    async streamThrough() {
      return (await this.#peer.stream()).pipeThrough(upper());
    }
    async read(request: Request) {
      const { method, url, headers } = request;
      return [method, url, headers.get('x-a'), await request.text()];
    }
    give() {
      return new Response('given', { status: 202, headers: { 'x-by': 'peer' } });
    }
    async fill(writable: WritableStream) {
      const writer = writable.getWriter();
      for (const part of ['one ', 'two']) await writer.write(new TextEncoder().encode(part));
      await writer.close();
    }
    headers(headers: Headers) {
      return [...headers];
    }
    async handOver() {
      const peer = this.#peer;
      const request = new Request('http://post/own', {
        method: 'POST',
        body: 'its body',
        headers: { 'x-a': 'own' },
      });
      const response: Response = await peer.give();
      let written = '';
      await peer.fill(
        new WritableStream({
          write(chunk) {
            written += new TextDecoder().decode(chunk);
          },
        }),
      );
      return [
        await peer.read(request),
        [response.status, response.headers.get('x-by'), await response.text()],
        written,
        await peer.headers(new Headers({ 'x-a': 'b', accept: 'c' })),
      ];
    }
    giveOn() {
      return this.#peer.give();
    }
    echo(value: unknown) {
      return value;
    }
  };
}

function upper() {
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const text = new TextDecoder().decode(chunk).toUpperCase();
      controller.enqueue(new TextEncoder().encode(text));
    },
  });
}

const WITH_COOKIE = { method: 'POST', body: 'a body', headers: { cookie: 'a=b' } };

type Ask = (post: Untyped) => unknown;

const ASKS: Readonly<Record<string, Ask>> = {
  'a request': (post) => told(post.fetch('http://post/own?q=1', { headers: { 'x-a': 'b' } })),
  'a request handed on': (post) =>
    told(
      post.fetch('http://post/on/own?q=1', { method: 'PUT', body: 'b', headers: { 'x-a': 'b' } }),
    ),
  'a form': (post) =>
    told(
      post.fetch('http://post/on/own', { method: 'POST', body: new URLSearchParams({ a: 'b' }) }),
    ),
  bytes: (post) => told(post.fetch('http://post/own', { method: 'POST', body: bytes() })),
  'an empty body': (post) => told(post.fetch('http://post/own', { method: 'POST', body: '' })),
  'the facts of a network': (post) =>
    told(post.fetch('http://post/facts', { cf: { country: 'AT', deep: { one: 1 } } })),
  'no facts': (post) => told(post.fetch('http://post/facts')),
  'the length of a text': (post) => told(post.fetch('http://post/facts', posted('aé🦊'))),
  'the length of bytes': (post) => told(post.fetch('http://post/facts', posted(bytes()))),
  'the length of a form': (post) =>
    told(post.fetch('http://post/facts', posted(new URLSearchParams({ a: 'b' })))),
  'the length of an empty body': (post) => told(post.fetch('http://post/facts', posted(''))),
  'a length that is told': (post) =>
    told(
      post.fetch('http://post/facts', { ...posted('text'), headers: { 'content-length': '4' } }),
    ),
  'no length without a body': (post) => told(post.fetch('http://post/facts', { method: 'POST' })),
  'an answer handed on': (post) => told(post.fetch('http://post/on/text')),
  'an answer handed on twice': (post) => told(post.fetch('http://post/on/on/text')),
  'an answer that is cloned': (post) => told(post.fetch('http://post/cloned/text')),
  'no body': (post) => told(post.fetch('http://post/on/empty')),
  'a stream': (post) => told(post.fetch('http://post/bytes')),
  'a stream handed on': (post) => told(post.fetch('http://post/on/bytes')),
  'a stream that is changed': (post) => told(post.fetch('http://post/through/bytes')),
  'a copy of a request': (post) => told(post.fetch('http://post/copied', WITH_COOKIE)),
  'a clone of a request': (post) => told(post.fetch('http://post/twice', WITH_COOKIE)),
  'cookies handed on': (post) => told(post.fetch('http://post/on/copied', WITH_COOKIE)),
  'cookies to keep': async (post) =>
    (await post.fetch('http://post/cookies')).headers.getSetCookie(),
  'cookies to keep handed on': async (post) =>
    (await post.fetch('http://post/on/cookies')).headers.getSetCookie(),
  'an error': (post) => post.fetch('http://post/thrown').then(told),
  'an error handed on': (post) => post.fetch('http://post/on/thrown').then(told),
  'a socket handed on': async (post) => {
    const init = { headers: { Upgrade: 'websocket' } };
    const { status, webSocket } = await post.fetch('http://post/on/socket', init);
    const heard = new Promise((resolve) => {
      webSocket.addEventListener('message', ({ data }: Untyped) => resolve(data));
    });
    webSocket.accept();
    webSocket.send('called');
    const words = await heard;
    webSocket.close(1000, 'done');
    return [status, words];
  },
  'a stream as a result': async (post) => new Response(await post.stream()).text(),
  'a stream as a result handed on': async (post) => new Response(await post.streamOn()).text(),
  'a stream as a result changed': async (post) => new Response(await post.streamThrough()).text(),
  'messages as arguments and results': (post) => post.handOver(),
  'a response as a result': (post) => told(post.giveOn()),
  'values of every kind': async (post) => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const given = [
      [undefined, null, true, 12n, Number.NaN, -0, 'é🦊'],
      new Date(7),
      /a/gi,
      new Map([[{ key: 1 }, new Set([2])]]),
      new Uint8Array([1, 2, 3]).subarray(1),
      new Float32Array([1.5]),
      new DataView(new ArrayBuffer(2)),
      // biome-ignore lint/suspicious/noSparseArray: the test sends a hole
      [1, , 3],
      Object('boxed'),
      cyclic,
      new RangeError('a value'),
    ];
    const echoed = await Promise.all(given.map((value) => post.echo(value)));
    return echoed.map(described);
  },
  ...Object.fromEntries(
    refused().map(([what, value]) => [`refused: ${what}`, (post: Untyped) => post.echo(value)]),
  ),
};

function refused(): readonly (readonly [string, unknown])[] {
  return [
    ['a symbol', Symbol('s')],
    ['an instance', new (class Own {})()],
    ['a promise', Promise.resolve()],
    ['a weak map', new WeakMap()],
    ['a URL', new URL('http://post/')],
    ['an object without a prototype', Object.create(null)],
    ['a generator', (function* () {})()],
  ];
}

function posted(body: Untyped) {
  return { method: 'POST', body };
}

function bytes(): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode('bytes');
}

async function told(given: Response | Promise<Response>): Promise<unknown[]> {
  const response = await given;
  const { status, redirected, headers } = response;
  return [status, redirected, headers.get('x-by'), await response.text()];
}

/** Parts of a value that JSON would not show. */
function described(value: Untyped): unknown {
  if (typeof value === 'bigint' || Object.is(value, -0) || Number.isNaN(value)) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (value === undefined) return 'undefined';
  if (typeof value !== 'object' || value === null) return value;
  const tag = Object.prototype.toString.call(value);
  if (value.self === value) return 'cyclic';
  if (value instanceof Map || value instanceof Set) return [tag, [...value].map(described)];
  if (ArrayBuffer.isView(value)) return [tag, value.byteLength, value.buffer.byteLength];
  if (value instanceof Error) return [tag, value.name, value.message];
  if (value instanceof Date || value instanceof RegExp) return [tag, String(value)];
  if (Array.isArray(value)) return [tag, Object.keys(value), value.map(described)];
  return [tag, Object.entries(value).map(described)];
}

/** The result of each; for an error its class, and its message when it is the object's own. */
export async function postAll(posts: Untyped): Promise<Record<string, unknown>> {
  const post = posts.getByName('one');
  const seen: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS)) {
    try {
      seen[what] = await ask(post);
    } catch (error) {
      const { name, message } = error as Error;
      seen[what] = name === 'RangeError' ? `${name}: ${message}` : name;
    }
  }
  return seen;
}
