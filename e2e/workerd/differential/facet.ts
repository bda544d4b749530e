// A class whose objects have facets of the same class, and of a class that is only exported. Covers how
// facets start, end, store, and which of their parts can be passed on.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
  readonly RpcTarget: new () => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** The class `Facet`, of objects and of their facets. */
export function facetOf({ DurableObject, RpcTarget }: Bases) {
  class Target extends RpcTarget {
    add(by: number) {
      return 40 + by;
    }
  }

  return class Facet extends DurableObject {
    declare readonly ctx: Untyped;
    declare readonly env: { readonly Facet: Untyped };
    #calls = 0;

    async ask(what: string) {
      const { ctx, env } = this;
      const start = () => ({ class: ctx.exports.Facet });
      const facet = (name: string) => ctx.facets.get(name, start);
      return told(() => ASKS[what]!({ ctx, env, facet, start }));
    }

    count() {
      this.#calls += 1;
      return this.#calls;
    }
    put(key: string, value: unknown) {
      return this.ctx.storage.put(key, value);
    }
    get(key: string) {
      return this.ctx.storage.get(key);
    }
    id() {
      const { id } = this.ctx;
      return [String(id), id.name ?? 'no name', typeof id];
    }
    props() {
      return this.ctx.props;
    }
    async propsOfPeer() {
      return this.ctx.props.peer.count();
    }
    exportNames() {
      // The other classes of the worker that serves it do not matter.
      return Object.keys(this.ctx.exports).filter((name) => /^(Facet|Inner)$/.test(name));
    }
    echo(value: unknown) {
      return value;
    }
    call(call: (value: number) => unknown) {
      return call(1);
    }
    get target() {
      return new Target();
    }
    fail() {
      throw new RangeError('failed');
    }
    abort(reason: string) {
      this.ctx.abort(reason);
    }
    alarm() {}
    setAlarm() {
      return this.ctx.storage.setAlarm(Date.now() + 1000);
    }
    alarms() {
      const { storage } = this.ctx;
      return Promise.all([storage.getAlarm(), storage.deleteAlarm()]);
    }
    async sleep() {
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 'slept';
    }
    async section() {
      return this.ctx.blockConcurrencyWhile(async () => this.ctx.storage.get('key'));
    }
    sql() {
      const { sql } = this.ctx.storage;
      sql.exec('CREATE TABLE IF NOT EXISTS t (a)');
      sql.exec('INSERT INTO t VALUES (1)');
      return sql.exec('SELECT count(*) AS n FROM t').toArray();
    }
    async within(name: string, method: string, ...parameters: unknown[]) {
      const { facets, exports } = this.ctx;
      return facets.get(name, () => ({ class: exports.Facet }))[method](...parameters);
    }
    async deeper(level: number): Promise<unknown> {
      const { facets, exports } = this.ctx;
      const below = facets.get('below', () => ({ class: exports.Facet }));
      return level > 9 ? level : told(() => below.deeper(level + 1));
    }
    fetch(request: Request) {
      if (request.headers.get('upgrade') === null) return new Response('fetched');
      const { 0: there, 1: here } = new (globalThis as Untyped).WebSocketPair();
      this.ctx.acceptWebSocket(here, ['tag']);
      return new Response(null, { status: 101, webSocket: there } as Untyped);
    }
    webSocketMessage(socket: Untyped, message: string) {
      socket.send(`${this.ctx.getTags(socket)}: ${message}`);
    }
  };
}

/** The class `Inner`, which has no objects of its own. */
export function innerOf({ DurableObject }: Bases) {
  return class Inner extends DurableObject {
    declare readonly ctx: Untyped;
    constructor(ctx: never, env: never) {
      super(ctx, env);
      if (this.ctx.props.isFailing) throw new RangeError('in the constructor');
    }
    hello() {
      return ['inner', this.ctx.props];
    }
  };
}

interface Asking {
  readonly ctx: Untyped;
  readonly env: { readonly Facet: Untyped };
  /** The facet of this name and of the same class. */
  facet(name: string): Untyped;
  start(): object;
}

type Ask = (asking: Asking) => unknown;

const ASKS: Readonly<Record<string, Ask>> = {
  'a facet': async ({ facet }) => [await facet('a').count(), await facet('a').count()],
  'two facets': async ({ facet }) => [await facet('a').count(), await facet('b').count()],
  'its id': async ({ ctx, facet }) => {
    const [id, name] = await facet('a').id();
    const [deeper, ...others] = await facet('a').within('b', 'id');
    return [id === String(ctx.id), name, deeper === id, others];
  },
  'an id that is given': async ({ ctx, start }) => {
    const id = ctx.exports.Facet.idFromName('other');
    const other = await ctx.facets.get('a', () => ({ ...start(), id })).id();
    const text = ctx.facets.get('b', () => ({ ...start(), id: 'text' }));
    return [
      other[0] === String(id),
      other.slice(1),
      await text.id(),
      await text.within('c', 'id'),
      await ctx.facets.get('d', () => ({ ...start(), id: 5 })).id(),
      await ctx.facets.get('e', () => ({ ...start(), id: '' })).id(),
    ];
  },
  'storage of its own': async ({ ctx, facet }) => {
    await facet('a').put('key', 'of a');
    await facet('b').put('key', 'of b');
    await ctx.storage.put('key', 'own');
    await facet('a').within('a', 'put', 'key', 'of a in a');
    return [
      await ctx.storage.get('key'),
      await facet('a').get('key'),
      await facet('b').get('key'),
      await facet('a').within('a', 'get', 'key'),
      await facet('c').get('key'),
    ];
  },
  'SQL of its own': async ({ facet }) => [await facet('a').sql(), await facet('b').sql()],
  'when the callback runs': async ({ ctx, start }) => {
    let count = 0;
    const counted = () => {
      count += 1;
      return start();
    };
    const facet = ctx.facets.get('a', counted);
    await new Promise((resolve) => setTimeout(resolve, 10));
    const before = count;
    await facet.count();
    const after = count;
    await ctx.facets.get('a', counted).count();
    return [before, after, count];
  },
  'a callback that takes time': ({ ctx, start }) =>
    ctx.facets.get('a', async () => start()).count(),
  'a callback that fails': async ({ ctx, facet }) => {
    const failing = ctx.facets.get('a', () => {
      throw new RangeError('in the callback');
    });
    const seen = [await told(() => failing.count()), await told(() => failing.count())];
    seen.push(await told(() => facet('a').count()));
    ctx.facets.abort('a', new Error('aborted'));
    seen.push(await told(() => failing.count()), await facet('a').count());
    return seen;
  },
  'a callback that gives something else': async ({ ctx, env }) => {
    const given = [undefined, {}, { class: 'Facet' }, { class: class {} }, { class: env.Facet }];
    return Promise.all(
      given.map((one, i) => nameOf(() => ctx.facets.get(`${i}`, () => one).count())),
    );
  },
  'a class that is only exported': async ({ ctx }) => [
    await ctx.facets.get('a', () => ({ class: ctx.exports.Inner })).hello(),
    typeof ctx.exports.Inner.idFromName,
  ],
  'a constructor that throws': async ({ ctx, facet }) => {
    const failing = () => ({ class: ctx.exports.Inner({ props: { isFailing: true } }) });
    const first = ctx.facets.get('a', failing);
    const seen = [await told(() => first.hello()), await told(() => first.hello())];
    return [...seen, await facet('a').count()];
  },
  props: async ({ ctx }) => {
    const { Facet, Inner } = ctx.exports;
    const props = { text: 'a', map: new Map([[1, { deep: 2 }]]), at: new Date(5) };
    const chosen = Facet({ props });
    props.text = 'changed';
    const got = await ctx.facets.get('a', () => ({ class: chosen })).props();
    return [
      [got.text, got.map.get(1), Number(got.at)],
      await ctx.facets.get('b', () => ({ class: Facet({}) })).props(),
      await ctx.facets.get('c', () => ({ class: Facet(null) })).props(),
      await ctx.facets.get('d', () => ({ class: Facet(undefined) })).props(),
      await ctx.facets.get('e', () => ({ class: Inner({ props: { a: 1 } }) })).hello(),
      await ctx.facets.get('f', () => ({ class: new Facet({ props: { b: 1 } }) })).props(),
      ctx.props,
    ];
  },
  'props with an object': async ({ ctx, env }) => {
    const props = { peer: env.Facet.getByName('peer') };
    return ctx.facets.get('a', () => ({ class: ctx.exports.Facet({ props }) })).propsOfPeer();
  },
  'wrong props': ({ ctx: { exports } }) =>
    Promise.all(
      [
        () => exports.Facet(),
        () => exports.Facet(5),
        () => exports.Facet({ props: 1 }),
        () => exports.Facet({ props: null }),
        () => exports.Facet({ props: { call() {} } }),
        () => exports.Facet({ props: {} })({ props: {} }),
      ].map(nameOf),
    ),
  'kinds of things': ({ ctx, facet }) =>
    [
      ctx.facets,
      ctx.exports.Facet,
      ctx.exports.Inner,
      ctx.exports.Facet({}),
      ctx.exports.Inner({}),
      facet('a'),
    ].map((thing) => [
      Object.prototype.toString.call(thing),
      thing.constructor.name,
      typeof thing,
      Object.keys(thing),
    ]),
  'exports as namespaces': async ({ ctx, facet }) => {
    const { Facet } = ctx.exports;
    return [
      await Facet.getByName('peer').count(),
      Facet.idFromName('peer').equals(Facet.idFromString(String(Facet.idFromName('peer')))),
      typeof Facet.get(Facet.newUniqueId()).count,
      await facet('a').exportNames(),
      typeof Facet.name,
      typeof Facet.length,
      Facet instanceof Function,
    ];
  },
  calls: async ({ facet }) => {
    const a = facet('a');
    return [
      await a.call((value: number) => value + 1),
      await a.target.add(2),
      await (await a.target).add(2),
      await (await a.echo((value: number) => value + 1))(3),
      await (await a.fetch('http://facet/')).text(),
      await told(() => a.fail()),
      await told(() => a.nope()),
      await told(() => a.alarm()),
    ];
  },
  'calls at once': ({ facet }) => {
    const a = facet('a');
    return Promise.all([a.sleep(), a.count(), a.count(), facet('a').count()]);
  },
  'members that are no methods': async ({ facet }) => [
    await told(() => facet('a').name),
    typeof facet('a').then,
    typeof facet('a').fetch,
  ],
  'what cannot be sent': async ({ ctx, env, facet }) => {
    const a = facet('a');
    const peer = env.Facet.getByName('peer');
    const { Facet, Inner } = ctx.exports;
    return Promise.all([
      words(() => a.echo(a)),
      words(() => a.echo({ deep: [facet('b')] })),
      words(() => peer.echo(a)),
      words(() => a.echo(Facet)),
      words(() => a.echo(Inner)),
      nameOf(() => ctx.storage.put('key', a)),
      nameOf(() => ctx.storage.put('key', Facet)),
      nameOf(() => structuredClone(Facet)),
    ]);
  },
  abort: async ({ ctx, facet }) => {
    const a = facet('a');
    await a.put('key', 1);
    await a.within('b', 'count');
    const underWay = told(() => a.sleep());
    await a.count();
    ctx.facets.abort('a', new RangeError('why'));
    return [
      await underWay,
      await told(() => a.count()),
      await facet('a').count(),
      await facet('a').get('key'),
      await facet('a').within('b', 'count'),
      await told(() => a.count()),
    ];
  },
  'an end in the turn of a call': async ({ ctx, facet }) => {
    await facet('from').put('key', 'from');
    const seen: unknown[] = [];
    const ends: Record<string, (name: string) => void> = {
      aborted: (name) => ctx.facets.abort(name, new Error('why')),
      deleted: (name) => ctx.facets.delete(name),
      replaced: (name) => ctx.facets.clone('from', name),
    };
    for (const [name, end] of Object.entries(ends)) {
      const called = told(() => facet(name).put('key', 1));
      end(name);
      seen.push(await called, await facet(name).get('key'));
    }
    return seen;
  },
  'abort with other reasons': async ({ ctx, facet }) => {
    const seen: unknown[] = [];
    for (const reason of ['text', 5, undefined, null]) {
      const a = facet('a');
      await a.count();
      ctx.facets.abort('a', reason);
      seen.push(await told(() => a.count()));
    }
    const a = facet('a');
    await a.count();
    ctx.facets.abort('a', { some: 'object' });
    seen.push(await a.count().catch((reason: unknown) => reason));
    return seen;
  },
  'abort of what was not started': async ({ ctx, facet }) => {
    const a = facet('a');
    ctx.facets.abort('a', new Error('why'));
    return [ctx.facets.abort('never', 'why') ?? 'nothing', await a.count()];
  },
  'a facet that aborts itself': async ({ facet }) => {
    const a = facet('a');
    await a.count();
    return [
      await told(() => a.abort('own')),
      await told(() => a.count()),
      await facet('a').count(),
    ];
  },
  delete: async ({ ctx, facet }) => {
    const a = facet('a');
    await a.put('key', 1);
    await a.within('b', 'put', 'key', 2);
    const underWay = told(() => a.sleep());
    await a.count();
    const gives = ctx.facets.delete('a') ?? 'nothing';
    return [
      gives,
      await underWay,
      await told(() => a.count()),
      await facet('a').get('key'),
      await facet('a').within('b', 'get', 'key'),
      await facet('a').count(),
    ];
  },
  'delete of what was not started': async ({ ctx, facet }) => {
    await facet('a').put('key', 1);
    ctx.facets.abort('a', 'ended');
    ctx.facets.delete('a');
    return [ctx.facets.delete('never') ?? 'nothing', await facet('a').get('key')];
  },
  'delete after a callback that failed': async ({ ctx, facet }) => {
    const failing = ctx.facets.get('a', () => {
      throw new RangeError('in the callback');
    });
    const before = await told(() => failing.count());
    ctx.facets.delete('a');
    return [before, await told(() => failing.count()), await facet('a').count()];
  },
  'another class after delete': async ({ ctx, facet }) => {
    await facet('a').count();
    ctx.facets.delete('a');
    return ctx.facets.get('a', () => ({ class: ctx.exports.Inner })).hello();
  },
  clone: async ({ ctx, facet }) => {
    await facet('a').put('key', 1);
    await facet('a').within('in', 'put', 'key', 2);
    const gives = ctx.facets.clone('a', 'b') ?? 'nothing';
    const copied = [await facet('b').get('key'), await facet('b').within('in', 'get', 'key')];
    await facet('b').put('key', 3);
    return [gives, copied, await facet('a').get('key'), await facet('b').get('key')];
  },
  'clone of what runs': async ({ ctx, facet }) => {
    const a = facet('a');
    await a.put('key', 1);
    await a.count();
    ctx.facets.clone('a', 'b');
    return [await a.count(), await facet('b').count(), await facet('b').get('key')];
  },
  'clone of what does not run': async ({ ctx, facet }) => {
    await facet('a').put('key', 1);
    await facet('a').within('in', 'put', 'key', 2);
    ctx.facets.abort('a', 'ended');
    ctx.facets.clone('a', 'b');
    return [await facet('b').get('key'), await facet('b').within('in', 'get', 'key')];
  },
  'clone over another': async ({ ctx, facet }) => {
    await facet('a').put('key', 'of a');
    const b = facet('b');
    await b.put('key', 'of b');
    await b.within('in', 'put', 'key', 'in b');
    ctx.facets.clone('a', 'b');
    return [
      await told(() => b.count()),
      await facet('b').get('key'),
      await facet('b').within('in', 'get', 'key'),
    ];
  },
  'clone of nothing': async ({ ctx, facet }) => {
    await facet('b').put('key', 'of b');
    ctx.facets.clone('never', 'b');
    return facet('b').get('key');
  },
  'clone onto itself': async ({ ctx, facet }) => {
    const a = facet('a');
    await a.put('key', 1);
    ctx.facets.clone('a', 'a');
    return [await told(() => a.count()), await facet('a').get('key')];
  },
  'deleteAll of the object': async ({ ctx, facet }) => {
    await ctx.storage.put('key', 'own');
    await facet('a').put('key', 'of a');
    await facet('a').count();
    await ctx.storage.deleteAll();
    return [await ctx.storage.get('key'), await facet('a').count(), await facet('a').get('key')];
  },
  names: async ({ ctx, facet, start }) => [
    await facet('x'.repeat(256)).count(),
    await facet('ü'.repeat(128)).count(),
    [await ctx.facets.get(1, start).count(), await facet('1').count()],
    [await facet('\ud800').count(), await facet('\ufffd').count()],
    await words(() => facet('x'.repeat(257))),
    await words(() => facet('ü'.repeat(129))),
    await words(() => ctx.facets.abort('x'.repeat(257), 1)),
    await words(() => ctx.facets.delete('x'.repeat(257))),
    await words(() => ctx.facets.clone('a', 'x'.repeat(257))),
  ],
  'wrong arguments': ({ ctx: { facets } }) =>
    Promise.all(
      [
        () => facets.get(),
        () => facets.get('a'),
        () => facets.get('a', 1),
        () => facets.abort('a'),
        () => facets.delete(),
        () => facets.clone('a'),
        () => new facets.constructor(),
      ].map(nameOf),
    ),
  'too deep': ({ facet }) => facet('a').deeper(1),
  'no alarm that is set': ({ facet }) => facet('a').alarms(),
  'setting an alarm': async ({ facet }) => {
    const a = facet('a');
    await a.count();
    return [
      await words(() => a.setAlarm()),
      await words(() => a.count()),
      await facet('a').count(),
    ];
  },
  'sections of a facet': async ({ facet }) => {
    await facet('a').put('key', 1);
    return facet('a').section();
  },
  'in a section of the object': async ({ ctx, facet }) => {
    await facet('a').count();
    return ctx.blockConcurrencyWhile(async () => [
      await facet('a').count(),
      await facet('a').call((value: number) => value + 1),
    ]);
  },
  'in a transaction of the object': async ({ ctx, facet }) => {
    const a = facet('a');
    await a.count();
    await ctx.storage.transaction(async (txn: Untyped) => {
      await txn.put('key', 1);
      await a.put('key', 1);
      txn.rollback();
    });
    return [await ctx.storage.get('key'), await a.get('key')];
  },
  sockets: async ({ facet }) => {
    const { webSocket } = await facet('a').fetch('http://facet/', {
      headers: { upgrade: 'websocket' },
    });
    const answer = new Promise((resolve) => {
      webSocket.addEventListener('message', (event: MessageEvent) => resolve(event.data));
    });
    webSocket.accept();
    webSocket.send('hello');
    return answer;
  },
};

/** Words after which our messages go on. */
const GOES_ON = /((?:does not implement the method "\w+"|cannot be called over RPC)\.).*/s;

/** The result, or the description of the error. */
async function told(ask: () => unknown): Promise<unknown> {
  try {
    const value = await ask();
    return value === undefined ? 'undefined' : value;
  } catch (error) {
    const { name, message, retryable, remote, durableObjectReset } = error as Untyped;
    const flags = { retryable: retryable ?? false, remote: remote ?? false, durableObjectReset };
    return { name, message: String(message).replace(GOES_ON, '$1'), ...flags };
  }
}

/** The name of the error. */
async function nameOf(ask: () => unknown): Promise<unknown> {
  try {
    await ask();
    return 'no error';
  } catch (error) {
    return (error as Error).name;
  }
}

/** The error in the words that both engines have. */
async function words(ask: () => unknown): Promise<unknown> {
  try {
    return await ask();
  } catch (error) {
    const { name, message } = error as Error;
    const [known] = message.match(SHARED) ?? [message];
    return `${name}: ${known}`;
  }
}

const SHARED =
  /^(Facet name is too long \(max 256 characters\)|Could not serialize .*? does not support serialization|alarms are not yet implemented for SQLite-backed Durable Objects|Facets currently cannot set alarms\.)/;

/** The result of each. */
export async function facetAll(all: Untyped): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const what of Object.keys(ASKS)) {
    seen[what] = await told(() => all.getByName(what).ask(what));
  }
  return seen;
}
