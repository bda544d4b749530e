// A worker with entry points of every kind, and another worker that it is bound to. Its default entry point asks all
// questions, each in an event of its own.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
  readonly RpcTarget: new () => object;
  readonly WorkerEntrypoint: new (ctx: never, env: never) => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** Where the names of its `env` lead, in both engines. */
export const SERVICES = {
  SELF: { service: 'main' },
  ADMIN: { service: 'main', entrypoint: 'Admin', props: { from: 'env' } },
  OTHER: { service: 'other' },
  GREETER: { service: 'other', entrypoint: 'Greeter' },
} as const;

/** Two decisions of a consumer, by the name of the queue. */
const DECISIONS: Readonly<Record<string, (batch: Untyped, message: Untyped) => unknown>> = {
  'ack after retry': (_batch, message) => [message.retry(), message.ack()],
  'retry after ack': (_batch, message) => [message.ack(), message.retry()],
  'retry twice': (_batch, message) => [
    message.retry({ delaySeconds: 1 }),
    message.retry({ delaySeconds: 2 }),
    message.retry(),
  ],
  'ack after ack all': (batch, message) => [batch.ackAll(), message.ack()],
  'retry after ack all': (batch, message) => [batch.ackAll(), message.retry()],
  'ack after retry all': (batch, message) => [batch.retryAll(), message.ack()],
  'retry after retry all': (batch, message) => [batch.retryAll(), message.retry()],
  'retry all after ack': (batch, message) => [message.ack(), batch.retryAll()],
  'ack all after retry': (batch, message) => [message.retry(), batch.ackAll()],
  'ack all after retry all': (batch) => [batch.retryAll(), batch.ackAll()],
  'retry all after ack all': (batch) => [batch.ackAll(), batch.retryAll()],
  'retry all twice': (batch) => [batch.retryAll({ delaySeconds: 1 }), batch.retryAll()],
};

/** The values that an event leaves for a later one. */
const seen: Seen = {};

interface Seen {
  env?: unknown;
  order?: unknown;
  mayEnd?: boolean;
  waited?: unknown;
  timer?: unknown;
  scheduled?: unknown;
  queue?: unknown;
}

/** The exports of the main worker. */
export function workerOf({ DurableObject, RpcTarget, WorkerEntrypoint }: Bases) {
  class Target extends RpcTarget {
    add(by: number) {
      return 40 + by;
    }
  }

  class Admin extends WorkerEntrypoint {
    declare readonly ctx: Untyped;
    declare readonly env: Untyped;
    calls = 0;

    count() {
      this.calls += 1;
      return this.calls;
    }
    get size() {
      return 7;
    }
    props() {
      return this.ctx.props;
    }
    echo(value: unknown) {
      return value;
    }
    fail() {
      throw new RangeError('failed');
    }
    failWith(kind: string) {
      throw kind === 'number' ? 5 : { reason: kind };
    }
    target() {
      return new Target();
    }
    counter() {
      let count = 0;
      return () => {
        count += 1;
        return count;
      };
    }
    call(call: (value: number) => unknown) {
      return call(3);
    }
    use(stub: Untyped) {
      return stub.props();
    }
    give() {
      return this.env.ADMIN;
    }
    giveExport() {
      return this.ctx.exports.Admin;
    }
    scheduled() {
      return 'called';
    }
    fetch(request: Request) {
      const { pathname } = new URL(request.url);
      if (pathname === '/slow') return slowly(['a', 'b', 'c']);
      return new Response(`admin ${pathname} ${JSON.stringify(this.ctx.props)}`);
    }
    env1() {
      const isSame = seen.env === undefined || seen.env === this.env;
      seen.env = this.env;
      return isSame;
    }
    later() {
      this.ctx.waitUntil(sleep(1).then(() => Object.assign(seen, { waited: true })));
      setTimeout(() => Object.assign(seen, { timer: true }), 300);
      return 1;
    }
  }

  class Bare extends WorkerEntrypoint {
    only() {
      return 1;
    }
  }

  class Fails extends WorkerEntrypoint {
    constructor(ctx: never, env: never) {
      super(ctx, env);
      throw new TypeError('in the constructor');
    }
    method() {}
  }

  class Wrong extends WorkerEntrypoint {
    fetch() {
      return 5;
    }
  }

  class Lobby extends DurableObject {
    declare readonly ctx: Untyped;
    declare readonly env: Untyped;

    hi() {
      return 'hi';
    }
    async entries() {
      const { exports } = this.ctx;
      const response = await exports.default.fetch('http://main/ping');
      return [await exports.Admin.count(), await this.env.ADMIN.props(), await response.text()];
    }
    use(stub: Untyped) {
      return stub.props();
    }
    fetch(request: Request) {
      if (request.headers.get('upgrade') === null) return new Response('lobby');
      return echoing('object');
    }
  }

  /** Shared by all events. */
  let shared = 0;
  const handler = {
    fetch: () => new Response(`plain ${++shared}`),
    hello: (name: string, env: Untyped) => `hello ${name} ${Object.keys(env).includes('SELF')}`,
  };

  return {
    Admin,
    Bare,
    Fails,
    Lobby,
    Wrong,
    handler,
    default: {
      extra: 'shared',
      async fetch(request: Request, env: Untyped, ctx: Untyped) {
        const { pathname } = new URL(request.url);
        switch (pathname) {
          case '/seen':
            return Response.json(seen);
          case '/ping':
            return new Response(`pong ${this.extra} ${JSON.stringify(ctx.props)}`);
          case '/fail':
            throw new RangeError('in fetch');
          case '/own-socket':
            return echoing('entry');
          case '/object-socket':
            return env.Lobby.getByName('socket').fetch(request);
          case '/order': {
            seen.order = 'answered';
            ctx.waitUntil(
              until(() => seen.mayEnd).then(() => {
                seen.order = 'waited';
              }),
            );
            return new Response('first');
          }
        }
        const what = decodeURIComponent(pathname.slice(1));
        const { exports } = ctx;
        return Response.json((await told(() => ASKS[what]!({ env, ctx, exports }))) ?? null);
      },
      add(by: number) {
        return by + 1;
      },
      async scheduled(controller: Untyped, env: Untyped, ctx: Untyped) {
        const { cron } = controller;
        if (cron === 'fail') throw new RangeError('failed');
        if (cron === 'wait and fail') ctx.waitUntil(Promise.reject(new Error('failed')));
        if (cron === 'no retry') controller.noRetry();
        if (cron === 'controller') seen.scheduled = await factsOf(controller);
        if (cron === 'facts') {
          const { scheduledTime } = controller;
          seen.scheduled = [cron, scheduledTime, controller.constructor.name, 'SELF' in env];
        }
        await sleep(1);
        return 'ignored';
      },
      async queue(batch: Untyped, _env: Untyped, ctx: Untyped) {
        const [first, second] = batch.messages;
        if (batch.queue === 'fail') throw new RangeError('failed');
        if (batch.queue === 'ack all') batch.ackAll();
        if (batch.queue === 'retry all') batch.retryAll({ delaySeconds: 5 });
        const decide = DECISIONS[batch.queue];
        if (decide !== undefined) decide(batch, first);
        if (batch.queue === 'each') {
          first.retry({ delaySeconds: 3 });
          second.ack();
        }
        if (batch.queue === 'facts') {
          ctx.waitUntil(sleep(1));
          const { id, timestamp, body, attempts } = second;
          seen.queue = [batch.messages.length, id, timestamp.getTime(), body, attempts];
        }
      },
    },
  };
}

/** The exports of the other worker. */
export function otherOf({ WorkerEntrypoint }: Bases) {
  return {
    Greeter: class extends WorkerEntrypoint {
      declare readonly ctx: Untyped;
      declare readonly env: Untyped;
      greet(name: string) {
        return `hi ${name} ${JSON.stringify(this.env)} ${JSON.stringify(this.ctx.props)}`;
      }
      exports() {
        return Object.keys(this.ctx.exports).sort();
      }
    },
    default: {
      fetch: (request: Request, env: object) =>
        new Response(`${new URL(request.url).pathname} ${JSON.stringify(env)}`),
    },
  };
}

/** `env` of the other worker. */
export const OTHER_ENV = { NAME: 'other' };

interface Worker {
  readonly env: Untyped;
  readonly ctx: Untyped;
  readonly exports: Untyped;
}

const ASKS: Readonly<Record<string, (worker: Worker) => unknown>> = {
  'the names of exports': ({ exports }) =>
    ['Admin', 'Bare', 'Fails', 'Lobby', 'Wrong', 'default', 'handler'].filter(
      (name) => name in exports,
    ),
  'kinds of exports': ({ exports }) =>
    ['default', 'handler', 'Admin', 'Lobby'].map((name) => kindOf(exports[name])),
  'kinds in env': ({ env }) => ['SELF', 'ADMIN', 'OTHER', 'Lobby'].map((name) => kindOf(env[name])),
  'the kind of ctx': ({ ctx }) => [...kindOf(ctx), ctx.constructor.name],
  'ctx.props without props': ({ ctx }) => ctx.props,
  'ctx takes other members': ({ ctx }) => {
    ctx.session = 1;
    return ctx.session;
  },
  'two calls': async ({ exports }) => [await exports.Admin.count(), await exports.Admin.count()],
  'a getter': ({ exports }) => exports.Admin.size,
  'a field': ({ exports }) => exports.Admin.calls,
  'ctx from outside': ({ exports }) => exports.Admin.ctx,
  'a method that is missing': ({ exports }) => exports.Admin.nope(),
  'reserved names': ({ exports }) =>
    Promise.all(['alarm', 'dup', 'webSocketMessage'].map((name) => told(exports.Bare[name]))),
  'names of handlers': ({ exports }) =>
    Promise.all(['scheduled', 'queue', 'tail'].map((name) => told(exports.Bare[name]))),
  'scheduled by a call': ({ exports }) => exports.Admin.scheduled(),
  'props of an export': ({ exports }) => exports.Admin({ props: { one: [1, 'a'] } }).props(),
  'options without props': ({ exports }) => exports.Admin({}).props(),
  'props of another type': ({ exports }) => nameOf(() => exports.Admin({ props: 5 })),
  'props with a function': ({ exports }) => nameOf(() => exports.Admin({ props: { f() {} } })),
  'an export without options': ({ exports }) => nameOf(() => exports.Admin()),
  'props twice': ({ exports }) => nameOf(() => exports.Admin({ props: {} })({ props: {} })),
  'props with an object': ({ exports, env }) => {
    const room = env.Lobby.getByName('in props');
    return exports.Admin({ props: { room } }).props().room.hi();
  },
  'props with a service': ({ exports, env }) =>
    exports
      .Admin({ props: { service: env.ADMIN } })
      .props()
      .service.props(),
  'requests with props': async ({ exports }) => [
    await text(exports.Admin.fetch('http://main/a')),
    await text(exports.Admin({ props: { b: 1 } }).fetch('http://main/b')),
  ],
  'an error': ({ exports }) => exports.Admin.fail(),
  'a thrown number': ({ exports }) => exports.Admin.failWith('number'),
  'a thrown object': async ({ exports }) => {
    const error = await exports.Admin.failWith('object').catch((thrown: unknown) => thrown);
    return error.reason;
  },
  'an error of fetch': ({ exports }) => exports.default.fetch('http://main/fail'),
  'no fetch handler': async ({ exports }) => {
    const { message }: Untyped = await told(() => exports.Bare.fetch('http://main/'));
    return message;
  },
  'a constructor that throws': async ({ exports }) => [
    await told(() => exports.Fails.method()),
    await told(() => exports.Fails.fetch('http://main/')),
  ],
  'no Response': ({ exports }) => nameOf(() => exports.Wrong.fetch('http://main/')),
  'a relative address': ({ exports }) => nameOf(() => exports.Admin.fetch('//')),
  'an object of functions': async ({ exports }) => [
    await text(exports.handler.fetch('http://main/')),
    await text(exports.handler.fetch('http://main/')),
    await exports.handler.hello('you'),
    await told(() => exports.handler.hello()),
    await told(() => exports.handler.hello('you', 'and me')),
    await told(() => exports.handler.nope('you')),
  ],
  'the default object': async ({ exports }) => [
    await exports.default.add(1),
    await text(exports.default.fetch('http://main/ping')),
  ],
  'a service of itself': async ({ env }) => [
    await text(env.SELF.fetch('http://main/ping')),
    await env.ADMIN.props(),
    await env.ADMIN.count(),
  ],
  'a service cannot be called': ({ env }) => nameOf(() => env.ADMIN({ props: {} })),
  'another worker': async ({ env }) => [
    await text(env.OTHER.fetch('http://other/a')),
    await env.GREETER.greet('you'),
    await env.GREETER.exports(),
  ],
  'env is shared': async ({ exports }) => [await exports.Admin.env1(), await exports.Admin.env1()],
  'an object': ({ env }) => env.Lobby.getByName('a').hi(),
  'entry points of an object': ({ env }) => env.Lobby.getByName('a').entries(),
  'a target': async ({ exports }) => (await exports.Admin.target()).add(1),
  'a target on its way': ({ exports }) => exports.Admin.target().add(2),
  'a function of an entry point': async ({ exports }) => {
    const count = await exports.Admin.counter();
    await sleep(5);
    return [await count(), await count()];
  },
  'a function as an argument': ({ exports }) => exports.Admin.call((value: number) => value * 2),
  'waitUntil and a timer': async ({ exports }) => {
    await exports.Admin.later();
    await until(() => seen.waited);
    await sleep(400);
    return [seen.waited, seen.timer ?? 'cancelled'];
  },
  'an answer before waitUntil': async ({ exports }) => {
    const answer = await text(exports.default.fetch('http://main/order'));
    const before = seen.order;
    seen.mayEnd = true;
    await until(() => seen.order === 'waited');
    return [answer, before, seen.order];
  },
  'waitUntil without a promise': async ({ ctx }) => [
    nameOf(() => ctx.waitUntil()),
    ctx.waitUntil(5) ?? 'nothing',
  ],
  'waitUntil without ctx': ({ ctx }) =>
    nameOf(() => {
      const { waitUntil } = ctx;
      waitUntil(Promise.resolve());
    }),
  'a clone of ctx': ({ ctx }) => nameOf(() => structuredClone(ctx)),
  'an export as an argument': ({ exports }) => exports.Admin.use(exports.Admin),
  'an export with props as an argument': ({ exports }) =>
    exports.Admin.use(exports.Admin({ props: { a: 1 } })),
  'a service as an argument': ({ env }) => env.ADMIN.use(env.ADMIN),
  'a service as an argument of an object': ({ env }) => env.Lobby.getByName('a').use(env.ADMIN),
  'a service as a result': async ({ exports }) => {
    const service = await exports.Admin.give();
    return [String(service), await service.props()];
  },
  'a service on its way': ({ exports }) => exports.Admin.give().props(),
  'an export as a result': ({ exports }) => exports.Admin.giveExport(),
  'a body in pieces': ({ exports }) => text(exports.Admin.fetch('http://main/slow')),
  'a socket of an entry point': ({ exports }) => talk(exports, '/own-socket'),
  'a socket of an object': ({ exports }) => talk(exports, '/object-socket'),
};

/** Describes the controller of `scheduled`. */
async function factsOf(controller: Untyped): Promise<unknown> {
  const { noRetry } = controller;
  return [
    Object.keys(controller).sort(),
    String(controller),
    typeof controller.scheduledTime,
    controller.noRetry() ?? 'nothing',
    await nameOf(() => noRetry()),
  ];
}

/** Questions that only the outside of a worker can ask; each returns what it has learned. */
const EVENTS: Readonly<Record<string, (worker: Untyped) => unknown>> = {
  ...Object.fromEntries(
    ['fail', 'wait and fail', 'no retry', 'ok'].map((cron) => [
      `scheduled: ${cron}`,
      (worker: Untyped) => worker.scheduled({ cron, scheduledTime: new Date(7) }),
    ]),
  ),
  ...Object.fromEntries(
    ['controller', 'facts'].map((cron) => [
      `scheduled: ${cron}`,
      async (worker: Untyped) => {
        await worker.scheduled({ cron, scheduledTime: new Date(7) });
        return (await seenBy(worker)).scheduled;
      },
    ]),
  ),
  'scheduled: without arguments': async (worker) => {
    const before = Date.now();
    await worker.scheduled();
    await worker.scheduled({ cron: 'facts' });
    const [cron, timeMs] = (await seenBy(worker)).scheduled as [string, number];
    return [cron, Math.abs(timeMs - before) < 60_000];
  },
  ...Object.fromEntries(
    ['fail', 'ack all', 'retry all', 'each', 'facts', ...Object.keys(DECISIONS)].map((queue) => [
      `queue: ${queue}`,
      (worker: Untyped) => worker.queue(queue, messages()),
    ]),
  ),
};

async function seenBy(worker: Untyped): Promise<Seen> {
  return (await worker.fetch('http://main/seen')).json();
}

function messages() {
  const timestamp = new Date(1);
  return [
    { id: '1', timestamp, body: { a: [1] }, attempts: 1 },
    { id: '2', timestamp, body: 'text', attempts: 2 },
  ];
}

/** The result of each, asked from outside of the worker. */
export async function entriesAll(worker: Untyped): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const what of Object.keys(ASKS)) {
    const response = await worker.fetch(`http://main/${encodeURIComponent(what)}`);
    answers[what] = await response.json();
  }
  for (const [what, ask] of Object.entries(EVENTS)) answers[what] = await ask(worker);
  answers['queue: what it was'] = (await seenBy(worker)).queue;
  return answers;
}

async function told(ask: () => unknown): Promise<unknown> {
  try {
    const value = await ask();
    return value instanceof Response ? [value.status, await value.text()] : value;
  } catch (error) {
    const { name, message, remote = false } = error as Untyped;
    return { name, message: firstSentence(message), remote };
  }
}

/** Our messages begin with workerd's words, and say more. */
function firstSentence(message: string): string {
  return /^.*?[.](?=\s|$)/s.exec(message)?.[0] ?? message;
}

async function nameOf(ask: () => unknown): Promise<unknown> {
  try {
    await ask();
    return 'no error';
  } catch (error) {
    return (error as Error).name;
  }
}

function kindOf(value: unknown): string[] {
  return [typeof value, String(value), Object.prototype.toString.call(value)];
}

async function text(response: Promise<Response>): Promise<string> {
  return (await response).text();
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

async function until(isTrue: () => unknown): Promise<void> {
  while (!isTrue()) await sleep(1);
}

function slowly(texts: readonly string[]): Response {
  const body = new ReadableStream({
    async start(controller) {
      for (const text of texts) {
        await sleep(2);
        controller.enqueue(new TextEncoder().encode(text));
      }
      controller.close();
    },
  });
  return new Response(body);
}

function echoing(who: string): Response {
  const { 0: client, 1: server } = new (globalThis as Untyped).WebSocketPair();
  server.accept();
  server.addEventListener('message', ({ data }: MessageEvent) => {
    if (data === 'close') server.close(1000, 'asked');
    else server.send(`${who}: ${data}`);
  });
  return new Response(null, { status: 101, webSocket: client } as ResponseInit);
}

/** Two messages and a close, each after a pause in which the event of the other side could have ended. */
async function talk(exports: Untyped, path: string): Promise<unknown> {
  const headers = { upgrade: 'websocket' };
  const response = await exports.default.fetch(`http://main${path}`, { headers });
  const socket = response.webSocket;
  socket.accept();
  const heard: unknown[] = [response.status];
  const next = (type: string) =>
    new Promise<Untyped>((resolve) => socket.addEventListener(type, resolve, { once: true }));
  for (const message of ['a', 'b']) {
    await sleep(5);
    const answer = next('message');
    socket.send(message);
    heard.push((await answer).data);
  }
  const closed = next('close');
  socket.send('close');
  const { code, reason } = await closed;
  return [...heard, code, reason];
}
