// Questions about calls as programs look at them: errors that were thrown on the other side, members of stubs, options
// of namespaces, streams and bodies that arrive, and `this` in callbacks.

import {
  attempt,
  type Questions,
  refusal,
  scope,
  type Untyped,
  within,
} from './surface-answers.ts';

const bytes = (...values: number[]) => new Uint8Array(values);
const text = (value: string) => new TextEncoder().encode(value);

/** Errors that an object throws, by name. */
export const ERRORS: Readonly<Record<string, () => unknown>> = {
  plain: () => new Error('plain'),
  cause: () => new Error('with a cause', { cause: { a: 1 } }),
  'a chain of causes': () =>
    new Error('outer', { cause: new RangeError('inner', { cause: 'innermost' }) }),
  aggregate: () => new AggregateError([new Error('one')], 'aggregate'),
  'a name of its own': () => Object.assign(new Error('named'), { name: 'Changed' }),
  'own properties': () => Object.assign(new TypeError('own'), { code: 'X', list: [1] }),
  'a hidden property': () => Object.defineProperty(new Error('hidden'), 'hidden', { value: 3 }),
  'a class': () => new Missing('of a class'),
  'a getter of a class': () => new Coded('coded'),
  'no message': () => new Error(),
  'marks of a reset': () => Object.assign(new Error('marked'), { retryable: true, remote: 'x' }),
  'not an error': () => ({ a: 1 }),
};

class Missing extends RangeError {
  readonly status = 404;
  override name = 'Missing';
}
class Coded extends Error {
  get code() {
    return 5;
  }
}

/** The own properties of an error, with their attributes. Every engine has its own stack. */
function ownOf(error: Untyped): unknown {
  if (!(error instanceof Error)) return Object.keys(error).includes('a') ? error.a : String(error);
  const own = Object.getOwnPropertyNames(error).filter(
    // The older version names the object in fewer errors.
    (name) => !['stack', 'durableObjectId', 'remote'].includes(name),
  );
  return [
    error.constructor.name,
    own.sort().map((name) => {
      const { value, enumerable } = Object.getOwnPropertyDescriptor(error, name)!;
      return [name, inside(value), enumerable];
    }),
  ];
}

const inside = (value: Untyped): unknown => {
  if (Array.isArray(value)) return value.map(inside);
  return value instanceof Error ? ownOf(value) : value;
};

const thrown = async (call: () => unknown): Promise<unknown> => {
  try {
    return ['none', await call()];
  } catch (error) {
    return ownOf(error);
  }
};

/** Streams that an object gives, by the kind of their chunks. */
export const CHUNKS: Readonly<Record<string, () => unknown>> = {
  text: () => 'tèxt',
  'an empty text': () => '',
  buffer: () => bytes(65).buffer,
  'a view of numbers': () => new Uint16Array([0x4241]),
  'a view of a part': () => new DataView(bytes(65, 66, 67).buffer, 1),
  bytes: () => bytes(65),
};

/** No chunk of a stream of bytes. */
export const NO_CHUNKS: Readonly<Record<string, () => unknown>> = {
  number: () => 5,
  null: () => null,
  undefined: () => undefined,
  object: () => ({}),
};

export const streamOf = (...chunks: readonly unknown[]) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

const BODILESS: Readonly<Record<string, () => Response>> = {
  null: () => new Response(null),
  'no argument': () => new Response(),
  'an empty text': () => new Response(''),
  'status 404': () => new Response(null, { status: 404 }),
  'status 204': () => new Response(null, { status: 204 }),
  'status 304': () => new Response(null, { status: 304 }),
};

/** The answer of the class to a request of this kind. */
export const bodiless = (kind: string): Response => BODILESS[kind]!();

/** The kind of `this` in a callback. */
function receiver(given: unknown): string {
  if (given === undefined) return 'undefined';
  return given === scope ? 'global' : typeof given;
}

const MEMBERS = ['ok', 'anything', 'then', 'toJSON', 'fetch', '0', 'constructor', 'hasOwnProperty'];
const present = (value: object) => MEMBERS.map((name) => [name, name in value]);

export const CALLS: Questions = {
  ...Object.fromEntries(
    Object.keys(ERRORS).map((kind) => [
      `an error: ${kind}`,
      ({ peer }: Untyped) => thrown(() => peer.throwing(kind)),
    ]),
  ),
  'an error: as a result': async ({ peer }) => Object.keys(await peer.failure()),
  'an error: stored': async ({ ctx: { storage } }) => {
    await storage.put('error', ERRORS['own properties']!());
    return Object.keys(await storage.get('error'));
  },
  'an error: of a request': ({ peer }) =>
    thrown(() => peer.fetch('http://surface/throwing/own%20properties')),
  'an error: of a function': ({ peer }) =>
    thrown(() =>
      peer.call(() => {
        throw ERRORS['a hidden property']!();
      }),
    ),
  'an error: of a target': async ({ peer }) => {
    const target = await peer.target();
    return thrown(() => target.throwing('cause'));
  },
  'an error: passed on': ({ peer }) => thrown(() => peer.throwingThere('a class')),

  'a method named toJSON': ({ peer }) => peer.toJSON(),
  'a method named toJSON of a target': async ({ peer }) => (await peer.target()).toJSON(),
  'a method named toJSON that is missing': async ({ env }) =>
    attempt(async () => (await env.Surface.getByName('peer').target()).deep.toJSON()).then(
      (answer) => String(answer).slice(0, 60),
    ),
  'stubs as JSON': async ({ env, peer }) => {
    const { id } = peer;
    return [
      JSON.stringify(peer),
      JSON.stringify({ peer, id }),
      JSON.stringify([await peer.target()]) === '[null]',
      JSON.stringify(env.Surface),
    ];
  },
  'keys of a stub': ({ peer }) => [Object.keys(peer), Object.entries(peer).length],
  'members that are in a stub': ({ peer }) => present(peer),
  'members that are in a received stub': async ({ peer }) => {
    const [target, call] = [await peer.target(), await peer.function()];
    return [present(target), present(call), Symbol.dispose in target];
  },
  'members that are in a result before it arrives': async ({ peer }) => {
    const result = peer.target();
    const seen = [present(result), present(peer.ok), present(result.ok)];
    await result;
    return seen;
  },
  'whether a stub has an own property': async ({ peer }) => {
    const target = await peer.target();
    return [Object.hasOwn(target, 'ok'), Object.hasOwn(target, 'ok'), typeof target.valueOf];
  },

  'options of get': ({ env }) => {
    const id = env.Surface.idFromName('with options');
    const all = [
      {},
      null,
      { locationHint: 'weur' },
      { locationHint: 'nowhere' },
      { routingMode: 'primary-only' },
      { routingMode: undefined },
      { unknown: 1 },
    ];
    return all.map((options) => [
      refusal(() => env.Surface.get(id, options)),
      refusal(() => env.Surface.getByName('with options', options)),
    ]);
  },
  'other values as options of get': ({ env }) => {
    const id = env.Surface.idFromName('with options');
    const all = [{ routingMode: 'other' }, { routingMode: null }, 5, 'text', true];
    return all.map((options) => [
      refusal(() => env.Surface.get(id, options)),
      refusal(() => env.Surface.getByName('with options', options)),
    ]);
  },
  'retries of get': async ({ env }) => {
    const id = env.Surface.idFromName('with options');
    const all = [
      {},
      undefined,
      null,
      { maxRetries: 0, timeoutMs: 500 },
      { maxRetries: 10, timeoutMs: 60_000 },
      { maxRetries: -1 },
      { maxRetries: 11 },
      { maxRetries: 1.5 },
      { maxRetries: '3' },
      { timeoutMs: 499 },
      { timeoutMs: 60_001 },
      { timeoutMs: null },
      { unknown: 1 },
    ];
    return all.map((retry) => refusal(() => env.Surface.get(id, { retry })));
  },
  'other values as retries of get': ({ env }) =>
    refusal(() => env.Surface.getByName('with options', { retry: 5 })),

  ...Object.fromEntries(
    Object.entries(CHUNKS).map(([kind, chunk]) => [
      `a body of chunks: ${kind}`,
      async ({ peer }: Untyped) => {
        const body = streamOf(chunk(), chunk());
        const sent = { method: 'POST', body };
        return [
          await within(attempt(async () => new Response(await peer.chunks(kind)).text())),
          await within(
            attempt(async () => [...bytes(...new Uint8Array(await arrived(peer, kind)))]),
          ),
          await within(
            attempt(async () => (await peer.fetch(`http://surface/chunks/${kind}`)).text()),
          ),
          await within(attempt(async () => (await peer.fetch('http://surface/echo', sent)).text())),
        ];
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(CHUNKS).map(([kind, chunk]) => [
      `an own body of chunks: ${kind}`,
      async () => {
        const init = { method: 'POST', body: streamOf(chunk()), duplex: 'half' };
        const response = new Response(streamOf(chunk()));
        const results = [
          () => new Response(streamOf(chunk(), chunk())).text(),
          () => new Request('http://surface/', init as RequestInit).text(),
          async () => [await response.clone().text(), await response.text(), response.bodyUsed],
        ];
        // Messages of a text's chunk are those of the engine.
        return Promise.all(
          results.map(async (result) => String(await within(attempt(result))).slice(0, 10)),
        );
      },
    ]),
  ),
  'an own body of chunks: as what it is read': async () => {
    const body = () =>
      new Response(streamOf(text('{"a"').buffer, new DataView(text(':1}').buffer)));
    const form = new Response(streamOf(text('a=1').buffer), {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    return [
      await body().json(),
      [...new Uint8Array(await body().arrayBuffer())],
      await (await body().blob()).text(),
      [...(await form.formData())],
    ];
  },
  'a body of other values': async ({ peer }) =>
    Promise.all(
      Object.keys(NO_CHUNKS).map(async (kind) => {
        const read = async () => (await peer.fetch(`http://surface/chunks/${kind}`)).text();
        return [kind, String(await within(attempt(read))).slice(0, 9)];
      }),
    ),
  'a body is the stream that it was made of': async () => {
    const stream = streamOf(bytes(65).buffer);
    const response = new Response(stream);
    const before = [response.body === stream, stream.locked, response.bodyUsed];
    const read = response.text();
    return [before, stream.locked, response.bodyUsed, await read];
  },

  'a response without a body': async ({ peer }) => {
    const answers = Object.keys(BODILESS).map(async (kind) => {
      const response: Response = await peer.fetch(`http://surface/bodiless/${kind}`);
      const { status, headers, body } = response;
      const seen = [status, headers.get('content-length'), headers.get('content-type')];
      const clone = response.clone();
      return [kind, body === null, clone.body === null, seen, await response.text()];
    });
    return Promise.all(answers);
  },
  'a response without a body, passed on': async ({ peer }) => {
    const response: Response = await peer.fetch('http://surface/bodiless-there');
    const chunks = [];
    for await (const chunk of response.body as Untyped) chunks.push(chunk);
    return [chunks.length, response.bodyUsed];
  },
  'a response without a body, to HEAD': async ({ peer }) => {
    const init = { method: 'HEAD' };
    return (await peer.fetch('http://surface/bodiless/null', init)).body === null;
  },
  'a response without a body, as a result': async ({ peer }) =>
    (await peer.response()).body === null,

  'this in callbacks': async ({ ctx, peer }) => [
    await ctx.storage.transaction(async function (this: unknown) {
      return receiver(this);
    }),
    ctx.storage.transactionSync(function (this: unknown) {
      return receiver(this);
    }),
    await ctx.blockConcurrencyWhile(async function (this: unknown) {
      return receiver(this);
    }),
    await new Promise((resolve) => {
      setTimeout(function (this: unknown) {
        resolve(receiver(this));
      }, 0);
    }),
    await new Promise((resolve) => {
      const timer = setInterval(function (this: unknown) {
        clearInterval(timer);
        resolve(receiver(this));
      }, 1);
    }),
    await peer.call(function (this: unknown) {
      return receiver(this);
    }),
    await (await peer.function())(),
  ],
  'a timer of other values': () => {
    const { setTimeout: timeout, setInterval: interval } = scope;
    const all = [
      () => timeout('code', 0),
      () => timeout(),
      () => timeout(null, 0),
      () => timeout({}, 0),
      () => interval('code', 1),
      () => interval(),
    ];
    return all.map(refusal); // the words of Node's timers are others
  },
  'a wait with other values as options': async () => {
    const all = [5, 'text', null, undefined, {}];
    return Promise.all(all.map((options) => attempt(() => scope.scheduler.wait(1, options))));
  },
};

async function arrived(peer: Untyped, kind: string): Promise<ArrayBuffer> {
  return new Response(await peer.chunks(kind)).arrayBuffer();
}

export { receiver };
