// A class whose methods give every kind of result, and the calls that callers make. Each engine's base
// classes are passed in, so that one file runs in both.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
  readonly RpcTarget: new () => object;
  readonly RpcStub: new (target: object) => object;
}

/** The class `Desk`. */
export function deskClass({ DurableObject, RpcTarget, RpcStub }: Bases) {
  class Drawer extends RpcTarget {
    readonly own: number;
    #count: number;
    constructor(count: number) {
      super();
      this.own = count;
      this.#count = count;
    }
    get count() {
      return this.#count;
    }
    get inner() {
      return new Drawer(this.#count * 10);
    }
    add(by: number) {
      this.#count += by;
      return this.#count;
    }
    fetch(by: number) {
      return `fetched ${by}`;
    }
    alarm() {
      return 'rung';
    }
    connect() {
      return 'connected';
    }
    get stub() {
      return new RpcStub(new Drawer(40));
    }
    below(by: number) {
      return new Drawer(this.#count + by);
    }
    fail() {
      throw new RangeError('stuck');
    }
  }

  return class Desk extends DurableObject {
    readonly #shared = new RpcStub(new Drawer(0)) as Untyped;

    shared() {
      return this.#shared.dup();
    }
    async isStub(value: object) {
      return [this.#shared, value, () => 1].map((one) => one instanceof RpcStub);
    }
    async ownCount() {
      return [await this.#shared.add(1), await this.#shared.count, typeof this.#shared.below];
    }
    get drawer() {
      return new Drawer(5);
    }
    get plain() {
      return { at: { deep: 7 }, add: (by: number) => by + 1 };
    }
    drawerOf(count: number) {
      return new Drawer(count);
    }
    parts() {
      return { at: { deep: 7 }, list: [1, 2], drawer: new Drawer(3), add: (by: number) => by + 2 };
    }
    adder() {
      return Object.assign((by: number) => by + 3, { step: 3, at: { deep: 8 } });
    }
    socket() {
      return new (globalThis as Untyped).WebSocketPair()[0];
    }
    text() {
      return 'text';
    }
    none() {
      return null;
    }
    list() {
      return [10, 20];
    }
    map() {
      return new Map([['key', 1]]);
    }
    date() {
      return new Date(5);
    }
    error() {
      return new TypeError('a value');
    }
    fail() {
      throw new RangeError('failed');
    }
    failTogether() {
      throw new AggregateError([new Error('one'), new RangeError('two')], 'both');
    }
    set written(_value: unknown) {}
    isDisposable(value: object) {
      return Symbol.dispose in value;
    }
    echo(value: unknown) {
      return value;
    }
    async fetch(request: Request) {
      const { pathname } = new URL(request.url);
      const status = Number(pathname.slice(1));
      if (pathname === '/loop') return Response.redirect(request.url, 302);
      if (status >= 300 && status < 400) {
        return new Response('elsewhere', { status, headers: { location: '/end?from=here' } });
      }
      const type = request.headers.get('content-type');
      return Response.json([request.method, type, await request.text(), request.redirect]);
    }
  };
}

/** A response as plain data. */
async function told(response: Promise<Response>): Promise<unknown[]> {
  const { status, url, redirected, headers, ok } = await response;
  return [status, url, redirected, headers.get('location'), ok, await (await response).text()];
}

const POST = { method: 'POST', body: 'a text' };

/** A member of the other side, whatever its class says. */
// biome-ignore lint/suspicious/noExplicitAny: a caller without types, as JavaScript has it
type Untyped = any;

type Ask = (desk: Untyped) => unknown;

const ASKS: Readonly<Record<string, Ask>> = {
  'a method of a result': (desk) => desk.drawerOf(2).add(1),
  'a getter of a result': (desk) => desk.drawerOf(2).count,
  'results of results': (desk) => desk.drawerOf(2).below(3).below(4).add(1),
  'a getter on the way': (desk) => desk.drawerOf(2).inner.add(1),
  'a method of a getter': (desk) => desk.drawer.add(1),
  'a getter of a getter': (desk) => desk.drawer.inner.inner.count,
  'a property of a plain object': (desk) => desk.parts().at.deep,
  'a plain object within': (desk) => desk.parts().at,
  'a function of a plain object': (desk) => desk.parts().add(1),
  'a target of a plain object': (desk) => desk.parts().drawer.add(1),
  'a property of a getter': (desk) => desk.plain.at.deep,
  'a function of a getter': (desk) => desk.plain.add(1),
  'a property that is missing': (desk) => desk.parts().nope,
  'a method that is missing': (desk) => desk.parts().nope(),
  'an own property of a target': (desk) => desk.drawerOf(2).own,
  'a target without the method': (desk) => desk.drawerOf(2).nope(),
  'an index of a list': (desk) => desk.list()[0],
  'an index of a stub': (desk) => desk[0],
  'the length of a list': (desk) => desk.list().length,
  'the length of a text': (desk) => desk.text().length,
  'a method of a text': (desk) => desk.text().toUpperCase(),
  'a member of null': (desk) => desk.none().member,
  'a member of a map': (desk) => desk.map().size,
  'a method of a date': (desk) => desk.date().getTime(),
  'a member of an error': (desk) => desk.error().message,
  'a member of what failed': (desk) => desk.fail().member,
  'a method of what failed': (desk) => desk.fail().method(),
  'a result that fails': (desk) => desk.drawerOf(1).fail(),
  'a property of a function': async (desk) => {
    const adder = await desk.adder();
    return [await adder(1), await adder.step, await adder.length, await adder.at.deep];
  },
  'what functions inherit': async (desk) => (await desk.adder()).call(null, 1),
  'a result twice': async (desk) => {
    const drawer = desk.drawerOf(2);
    const [first, second] = [await drawer, await drawer];
    return [first === second, await first.add(1), await drawer.add(1)];
  },
  'then, catch, finally': async (desk) => [
    await desk.text().then((text: string) => `${text}!`),
    await desk.fail().catch(({ message }: Error) => message),
    await desk.text().finally(() => {}),
  ],
  'which results can be disposed': async (desk) => {
    const names = ['parts', 'adder', 'list', 'map', 'date', 'error'];
    const results = await Promise.all(names.map((name) => desk[name]()));
    return results.map((result) => typeof result[Symbol.dispose]);
  },
  'how that shows': async (desk) => {
    const parts = await desk.parts();
    return [Object.keys(parts), JSON.stringify(parts.at), await desk.isDisposable(parts.at)];
  },
  'arguments cannot be disposed': (desk) => desk.isDisposable({ a: 1 }),
  'after disposal': async (desk) => {
    const parts = await desk.parts();
    const kept = parts.drawer.dup();
    parts[Symbol.dispose]();
    parts[Symbol.dispose]();
    const gone = await parts.drawer.add(1).then(
      () => 'alive',
      () => 'gone',
    );
    return [gone, await kept.add(1)];
  },
  'a function on both sides': async (desk) => {
    const doubled = await desk.echo((value: number) => value * 2);
    return doubled(4);
  },
  'a stub that is passed on': async (desk) => {
    const drawer = await desk.echo(await desk.drawerOf(2));
    return [await drawer.add(1), await drawer.count, await drawer.below(1).add(1)];
  },
  'a stub within an argument': async (desk) => {
    const { drawer, adder } = await desk.echo({
      drawer: await desk.drawerOf(2),
      adder: await desk.adder(),
    });
    return [await drawer.add(1), await adder(1), await adder.step];
  },
  'what a passed stub has not': async (desk) => (await desk.echo(await desk.drawerOf(2))).nope(),
  'a stub that the object made': async (desk) => {
    const [one, two] = [await desk.shared(), await desk.shared()];
    const counts = [await one.add(1), await two.add(1)];
    one[Symbol.dispose]();
    return [...counts, await two.count, await desk.ownCount()];
  },
  'what is a stub': async (desk) => [
    await desk.isStub(await desk.drawerOf(1)),
    await desk.isStub(() => 1),
    await desk.isStub({}),
  ],
  'a target’s own handlers': async (desk) => {
    const drawer = desk.drawerOf(1);
    return [await drawer.fetch(2), await drawer.alarm(), await drawer.connect()];
  },
  'a getter that gives a stub': (desk) => desk.drawerOf(2).stub.add(2),
  'a getter of a stub that a getter gives': (desk) => desk.drawer.stub.inner.count,
  'a socket as a result': (desk) => desk.socket(),
  'a forgotten await': (desk) => desk.echo({ value: desk.drawer }),
  'a forgotten await of a result': (desk) => desk.echo({ value: desk.text() }),
  'a setter without a getter': (desk) => desk.written,
  'a request': (desk) => told(desk.fetch('http://desk/end', POST)),
  'a request passed on': (desk) => told(desk.fetch(new Request('http://desk/303', POST))),
  'a redirect': (desk) => told(desk.fetch('http://desk/302')),
  'a redirect that is not followed': (desk) =>
    told(desk.fetch('http://desk/302', { redirect: 'manual' })),
  'a redirect of a post': (desk) => told(desk.fetch('http://desk/301', POST)),
  'a redirect of a put': (desk) => told(desk.fetch('http://desk/302', { ...POST, method: 'PUT' })),
  'a redirect to see': (desk) => told(desk.fetch('http://desk/303', { ...POST, method: 'PUT' })),
  'a redirect with its body': (desk) => told(desk.fetch('http://desk/307', POST)),
  'a redirect whose body is gone': (desk) =>
    told(desk.fetch('http://desk/308', { ...POST, body: new Response('s').body, duplex: 'half' })),
  'a redirect without end': (desk) => told(desk.fetch('http://desk/loop')),
  'a status that redirects nowhere': (desk) => told(desk.fetch('http://desk/304')),
  'errors together': async (desk) => {
    const failed = await desk.failTogether().catch((error: AggregateError) => error);
    return [failed.name, failed.errors.map(({ message }: Error) => message)];
  },
  'a promise as an argument': (desk) => desk.echo(desk.text()),
  'an instance as an argument': (desk) => desk.echo(new (class Own {})()),
};

/** The result of each; for an error its class, and its message when it is the object's own. */
export async function askAll(desks: unknown): Promise<Record<string, unknown>> {
  const desk = (desks as Untyped).getByName('one');
  const seen: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS)) {
    try {
      const answer = await ask(desk);
      seen[what] = answer === undefined ? 'undefined' : answer;
    } catch (error) {
      const { name, message } = error as Error;
      seen[what] = ['RangeError'].includes(name) ? `${name}: ${message}` : name;
    }
  }
  return seen;
}
