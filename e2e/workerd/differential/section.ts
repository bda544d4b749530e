// A class that is called back while one of its critical sections is open, and the order that it sees.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
  readonly RpcTarget: new () => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** The actions of an object inside one of its sections, with another object of its class. */
const CALLBACKS = {
  'a function': (peer) => peer.call((value: number) => value + 1, 1),
  'a function in a value': (peer) => peer.callIn({ deep: { add: (value: number) => value + 1 } }),
  'a function that fails': (peer) =>
    peer.call(() => {
      throw new RangeError('in the callback');
    }, 1),
  'a function that uses storage': (peer, { ctx }) =>
    peer.call(async (value: number) => {
      await ctx.storage.put('key', value);
      return ctx.storage.get('key');
    }, 7),
  'a function that calls back in turn': (peer) =>
    peer.callWith(
      (add: (value: number) => number) => add(1),
      (value: number) => value + 1,
    ),
  'a function that opens a section': (peer, { ctx }) =>
    peer.call((value: number) => ctx.blockConcurrencyWhile(async () => value + 1), 1),
  'a function called through another object': (peer) =>
    peer.callThrough((value: number) => value + 1),
  'a method of a target': (peer, { target }) => peer.add(target()),
  'a getter of a target': (peer, { target }) => peer.count(target()),
  'a target given by a target': (peer, { target }) => peer.addBelow(target()),
  'a stream': async (peer) => {
    const stream = new Response('streamed').body!;
    return peer.text(stream);
  },
  'messages of a socket': async (peer) => {
    const { webSocket } = await peer.fetch('http://section/', {
      headers: { Upgrade: 'websocket' },
    });
    const heard = new Promise((resolve) => {
      webSocket.addEventListener('message', ({ data }: Untyped) => resolve(data));
    });
    webSocket.accept();
    webSocket.send('called');
    const words = await heard;
    webSocket.close(1000, 'done');
    return words;
  },
} satisfies Readonly<Record<string, (peer: Untyped, own: Own) => unknown>>;

interface Own {
  readonly ctx: Untyped;
  target(): object;
}

type Kind = 'blockConcurrencyWhile' | 'transaction' | 'constructor';

/** The class `Section`. */
export function sectionOf({ DurableObject, RpcTarget }: Bases) {
  class Target extends RpcTarget {
    #count = 0;
    get count() {
      return this.#count;
    }
    add(by: number) {
      this.#count += by;
      return this.#count;
    }
    get below() {
      return new Target();
    }
  }

  return class Section extends DurableObject {
    declare readonly ctx: Untyped;
    declare readonly env: { readonly Section: Untyped };
    #constructed: unknown;
    #order: string[] = [];

    constructor(ctx: never, env: never) {
      super(ctx, env);
      const [kind, what] = (this.ctx.id.name ?? '').split(': ');
      if (kind === 'constructor') {
        this.ctx.blockConcurrencyWhile(async () => {
          this.#constructed = await this.#perform(what);
        });
      }
    }

    async inSection(kind: Kind, what: string) {
      switch (kind) {
        case 'blockConcurrencyWhile':
          return this.ctx.blockConcurrencyWhile(() => this.#perform(what));
        case 'transaction':
          return this.ctx.storage.transaction(() => this.#perform(what));
        case 'constructor':
          return this.#constructed;
      }
    }
    /** A callback that was passed in a section comes before the event that waits for its end. */
    async ordered() {
      const peer = this.env.Section.getByName('peer of the ordered');
      await this.ctx.blockConcurrencyWhile(async () => {
        void this.env.Section.getByName('orderly').note('event');
        await peer.call(() => this.#order.push('callback'), 1);
        this.#order.push('section');
      });
      return this.#order;
    }
    /** A function that was passed in a section that has ended is called as an ordinary event. */
    async afterwards() {
      const peer = this.env.Section.getByName('keeper');
      await this.ctx.blockConcurrencyWhile(() => peer.keep((value: number) => value + 1));
      return peer.callKept(1);
    }

    #kept: Untyped;
    keep(callback: Untyped) {
      this.#kept = callback.dup();
    }
    callKept(value: number) {
      return this.#kept(value);
    }
    note(what: string) {
      this.#order.push(what);
    }
    call(callback: Untyped, value: unknown) {
      return callback(value);
    }
    callIn({ deep }: Untyped) {
      return deep.add(1);
    }
    callWith(callback: Untyped, ..._given: unknown[]) {
      return callback((value: number) => value + 2);
    }
    async callThrough(callback: Untyped) {
      return await this.env.Section.getByName('third').call(callback, 1);
    }
    async add(target: Untyped) {
      return target.add(1);
    }
    async count(target: Untyped) {
      return target.count;
    }
    async addBelow(target: Untyped) {
      return target.below.add(3);
    }
    text(stream: ReadableStream) {
      return new Response(stream).text();
    }
    async fetch() {
      const pair = new (globalThis as Untyped).WebSocketPair();
      pair[1].accept();
      pair[1].addEventListener('message', ({ data }: Untyped) => pair[1].send(`peer ${data}`));
      return new Response(null, { status: 101, webSocket: pair[0] } as ResponseInit);
    }

    async #perform(what: string | undefined): Promise<unknown> {
      const callback = CALLBACKS[what as keyof typeof CALLBACKS];
      const own = { ctx: this.ctx, target: () => new Target() };
      try {
        return await callback(this.env.Section.getByName('peer'), own);
      } catch (error) {
        const { name, message } = error as Error;
        return `${name}: ${message}`;
      }
    }
  };
}

/** The result of each. */
export async function sectionAll(sections: Untyped): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const kind of ['blockConcurrencyWhile', 'transaction', 'constructor']) {
    for (const what of Object.keys(CALLBACKS)) {
      const name = `${kind}: ${what}`;
      seen[name] = await within5s(sections.getByName(name).inSection(kind, what));
    }
  }
  seen['before what waits'] = await within5s(sections.getByName('orderly').ordered());
  seen['after the section'] = await within5s(sections.getByName('late').afterwards());
  return seen;
}

/** A hang is an answer like others. */
function within5s(call: Promise<unknown>): Promise<unknown> {
  const late = new Promise((resolve) => setTimeout(() => resolve('no answer'), 5000));
  return Promise.race([call, late]);
}
