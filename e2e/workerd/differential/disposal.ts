// A class that hands out targets which report their disposal, and its callers.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
  readonly RpcTarget: new () => object;
  readonly RpcStub: new (target: object) => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** The class `Disposal`. */
export function disposalOf({ DurableObject, RpcTarget, RpcStub }: Bases) {
  class Subscription extends RpcTarget {
    readonly #onGone: (name: string) => void;
    readonly #name: string;
    constructor(name: string, onGone: (name: string) => void) {
      super();
      this.#name = name;
      this.#onGone = onGone;
    }
    name() {
      return this.#name;
    }
    async work() {
      await new Promise((resolve) => setTimeout(resolve, 20));
      this.#onGone(`work of ${this.#name}`);
    }
    next() {
      return new Subscription(`next of ${this.#name}`, this.#onGone);
    }
    [Symbol.dispose]() {
      this.#onGone(this.#name);
      if (this.#name === 'failing') throw new Error('while it was disposed of');
    }
  }

  return class Disposal extends DurableObject {
    declare readonly ctx: Untyped;
    declare readonly env: { readonly Disposal: Untyped };
    readonly #gone: string[] = [];
    readonly #onGone = (name: string) => void this.#gone.push(name);
    readonly #shared = new RpcStub(new Subscription('shared', this.#onGone)) as Untyped;
    #kept: Untyped;

    gone() {
      return this.#gone;
    }
    make(name: string) {
      return new Subscription(name, this.#onGone);
    }
    get made() {
      return new Subscription('by a getter', this.#onGone);
    }
    makeTwo() {
      return { list: [this.make('a')], deep: { one: this.make('b') } };
    }
    makeTwice() {
      const one = this.make('twice');
      return [one, one];
    }
    makeFunction() {
      const dispose = () => this.#onGone('function');
      return Object.assign(() => 1, { [Symbol.dispose]: dispose });
    }
    makeNever() {
      this.make('never given');
    }
    give() {
      return this.#shared.dup();
    }
    endShared() {
      this.#shared[Symbol.dispose]();
    }
    async own() {
      const stub = new RpcStub(this.make('own')) as Untyped;
      const second = stub.dup();
      stub[Symbol.dispose]();
      const before = [...this.#gone];
      second[Symbol.dispose]();
      await this.env.Disposal.getByName('elsewhere').gone(); // time passes
      return [before, this.#gone];
    }
    async hold(from: string) {
      this.#kept = await this.env.Disposal.getByName(from).make('held');
      return this.#kept.name();
    }
    abort() {
      this.ctx.abort('on purpose');
    }
    unsendable(name: string) {
      const dispose = () => this.#onGone('function');
      return [
        this.make(name),
        Object.assign(() => 1, { [Symbol.dispose]: dispose }),
        new WeakMap(),
      ];
    }
    tooLarge(name: string) {
      return [this.make(name), new Uint8Array(33 * 1024 * 1024)];
    }
    async send(name: string, value: unknown) {
      const sent = this.env.Disposal.getByName('elsewhere').take(this.make(name), value);
      return sent.catch(({ name }: Error) => name);
    }
    sendUnsendable() {
      return this.send('unsendable', new WeakMap());
    }
    sendTooLarge() {
      return this.send('too large', new Uint8Array(33 * 1024 * 1024));
    }
    giveUnsendable() {
      return [this.#shared, new WeakMap()];
    }
    take() {}
    nameOf(stub: Untyped) {
      return stub.name();
    }
    /** The answer does not wait for the call of the argument. */
    later(stub: Untyped) {
      void stub.work();
    }
    sendLater() {
      return this.env.Disposal.getByName('elsewhere').later(this.make('used later'));
    }
    /** The call waits for the write, and the stub does not wait for the call. */
    async lend(from: string) {
      const made = await this.env.Disposal.getByName(from).make('lent');
      this.ctx.storage.put('a', 1);
      const named = this.env.Disposal.getByName('elsewhere').nameOf(made);
      made[Symbol.dispose]();
      return named;
    }
    async streams() {
      const elsewhere = this.env.Disposal.getByName('elsewhere');
      const [out, into] = [new ReadableStream({ type: 'bytes' }), new WritableStream()];
      this.ctx.storage.put('a', 1);
      const taken = [elsewhere.take(out), elsewhere.take(into)];
      const areLocked = [out.locked, into.locked];
      await Promise.all(taken);
      return areLocked;
    }
  };
}

type Ask = (one: Untyped, all: Untyped, name: string) => unknown;

const ASKS: Readonly<Record<string, Ask>> = {
  'a target': async (one) => {
    const made = await one.make('a');
    const before = await one.gone();
    made[Symbol.dispose]();
    return [before, await goneOf(one, 1)];
  },
  'a target disposed of twice': async (one) => {
    const made = await one.make('a');
    made[Symbol.dispose]();
    made[Symbol.dispose]();
    return goneOf(one, 1);
  },
  'a function': async (one) => {
    const made = await one.makeFunction();
    await made();
    made[Symbol.dispose]();
    return goneOf(one, 1);
  },
  'a getter': async (one) => {
    const made = await one.made;
    made[Symbol.dispose]();
    return goneOf(one, 1);
  },
  'the results of a target': async (one) => {
    const made = await one.make('a');
    const next = await made.next();
    next[Symbol.dispose]();
    const first = await goneOf(one, 1);
    made[Symbol.dispose]();
    return [first, await goneOf(one, 2)];
  },
  'a result that holds two': async (one) => {
    const made = await one.makeTwo();
    made[Symbol.dispose]();
    return (await goneOf(one, 2)).sort();
  },
  'one target twice in a result': async (one) => {
    const made = await one.makeTwice();
    made[0][Symbol.dispose]();
    const first = await goneOf(one, 1);
    made[1][Symbol.dispose]();
    return [first, await goneOf(one, 2)];
  },
  'the last handle': async (one) => {
    const made = await one.make('a');
    const other = made.dup();
    made[Symbol.dispose]();
    const name = await other.name();
    const before = await one.gone();
    other[Symbol.dispose]();
    return [name, before, await goneOf(one, 1)];
  },
  'a promise': async (one) => {
    const promise = one.make('a');
    await promise;
    promise[Symbol.dispose]();
    return goneOf(one, 1);
  },
  'a target that fails': async (one) => {
    const made = await one.make('failing');
    made[Symbol.dispose]();
    return [await goneOf(one, 1), await one.make('b').name()];
  },
  'a target that is not given': async (one) => {
    await one.makeNever();
    return one.gone();
  },
  'a stub of its own': (one) => one.own(),
  'a stub that is given several times': async (one) => {
    const [first, second] = [await one.give(), await one.give()];
    first[Symbol.dispose]();
    const names = [await second.name()];
    second[Symbol.dispose]();
    const before = await one.gone();
    await one.endShared();
    return [names, before, await goneOf(one, 1)];
  },
  'a result that cannot be sent': async (one) => [
    await failureOf(one.unsendable('a')),
    (await goneOf(one, 2)).sort(),
  ],
  'a result that is too large': async (one) => [
    await failureOf(one.tooLarge('a')),
    await goneOf(one, 1),
  ],
  'a stub in a result that cannot be sent': async (one) => [
    await failureOf(one.giveUnsendable()),
    await goneOf(one, 1),
  ],
  'arguments that cannot be sent': async (one) => [
    await one.sendUnsendable(),
    await goneOf(one, 1),
  ],
  'arguments that are too large': async (one) => [await one.sendTooLarge(), await goneOf(one, 1)],
  'a stub disposed of behind its call': async (one, all, name) => [
    await all.getByName(`lender of ${name}`).lend(name),
    await goneOf(one, 1),
  ],
  'streams of a call that waits': (one) => one.streams(),
  'disposed of during its call': async (one) => {
    const made = await one.make('a');
    const work = made.work();
    made[Symbol.dispose]();
    await work;
    return goneOf(one, 2);
  },
  'a promise disposed of during a call of its result': async (one) => {
    const promise = one.make('a');
    const work = promise.work();
    promise[Symbol.dispose]();
    await work;
    return goneOf(one, 2);
  },
  'an argument in use after the answer': async (one) => {
    await one.sendLater();
    return goneOf(one, 2);
  },
  'the object that holds it ends': async (one, all, name) => {
    const holder = all.getByName(`holder of ${name}`);
    const held = await holder.hold(name);
    const before = await one.gone();
    await holder.abort().catch(() => {});
    return [held, before, await goneOf(one, 1)];
  },
};

function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.catch(({ name }: Error) => name);
}

/** The disposed targets once there are `count`, or after a while. */
async function goneOf(one: Untyped, count: number): Promise<string[]> {
  for (let tries = 0; ; tries++) {
    const gone = await one.gone();
    if (gone.length >= count || tries === 100) return [...gone];
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The result of each. */
export async function disposeAll(all: Untyped): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS)) {
    try {
      seen[what] = await ask(all.getByName(what), all, what);
    } catch (error) {
      seen[what] = (error as Error).name;
    }
  }
  return seen;
}
