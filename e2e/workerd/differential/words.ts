// A class whose members and results fail in every way that programs recognize by the words of the error,
// and whose getters give values that cannot be sent as a whole.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
  readonly RpcTarget: new () => object;
  readonly RpcStub: new (target: object) => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** Most bytes of the arguments or the result of a call. */
const PAYLOAD_BYTES_MAX = 32 * 1024 * 1024;

class Own {
  readonly held: unknown;
  constructor(held: unknown) {
    this.held = held;
  }
}

/** The class `Words`. */
export function wordsOf({ DurableObject, RpcTarget, RpcStub }: Bases) {
  class Target extends RpcTarget {
    add(by: number) {
      return 40 + by;
    }
    fetch() {
      return 'fetched';
    }
    get mixed() {
      return { text: 'of a target', own: new Own(1), add: (by: number) => by + 3 };
    }
  }

  return class Words extends DurableObject {
    declare readonly ctx: Untyped;
    declare readonly env: { readonly Words: Untyped };
    readonly field = 1;
    kept: unknown;

    get mixed() {
      return {
        text: 'of an object',
        own: new Own(new Target()),
        target: new Target(),
        stub: new RpcStub(new Target()),
        peer: this.env.Words.getByName('peer'),
        add: Object.assign((by: number) => by + 2, { step: 2, own: new Own(1) }),
        list: [1, 2],
        map: new Map([['a', 1]]),
        none: null,
        fetch: () => 'not fetched',
        deep: { own: new Own(2), at: { text: 'deep' } },
      };
    }
    made() {
      return this.mixed;
    }
    get adder() {
      return Object.assign((by: number) => by + 1, { step: 1, at: { deep: 8 } });
    }
    get target() {
      return new Target();
    }
    get promised() {
      return Promise.resolve({ text: 'promised' });
    }
    get self() {
      return this;
    }
    text() {
      return 'text';
    }
    instance() {
      return new Own(1);
    }
    symbol() {
      return Symbol('s');
    }
    echo(value: unknown) {
      return value;
    }
    async call(value: Untyped) {
      return (value.held ?? value)();
    }
    add(target: Untyped) {
      return target.add(1);
    }
    disposed() {
      const stub = new RpcStub(new Target()) as Untyped;
      this.kept = stub.dup();
      stub[Symbol.dispose]();
      return { stub };
    }
    bytes(count: number) {
      return new Uint8Array(count);
    }
    sizeOf(bytes: Uint8Array) {
      return bytes.length;
    }
    fail() {
      throw new RangeError('failed');
    }
    failPlain() {
      throw Object.assign(Object.create(null), { step: 1 });
    }
    get failing() {
      throw new RangeError('a getter failed');
    }
    alarm() {}
    webSocketMessage() {}
    async failOfPeer() {
      try {
        return await this.env.Words.getByName('peer').fail();
      } catch (error) {
        return stackOf(error);
      }
    }
    twoLists() {
      const { kv } = this.ctx.storage;
      for (const key of ['a', 'b', 'c']) kv.put(key, 1);
      const first = kv.list()[Symbol.iterator]();
      first.next();
      kv.list()[Symbol.iterator]().next();
      return told(() => first.next());
    }
    storedTooDeep() {
      return told(() => this.ctx.storage.kv.put('deep', nested(20_000)));
    }
  };
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = { value };
  return value;
}

/** The first line of a stack, and whether it names the function that waited. */
function stackOf(error: unknown): unknown[] {
  const stack = String((error as Error).stack);
  // Firefox begins every stack with its first frame.
  const hasHeadline = String(new Error('a').stack).startsWith('Error: a');
  const headline = hasHeadline ? stack.split('\n')[0] : String(error);
  return [headline, /failOfPeer|callerOfStub|callerOfTarget/.test(stack)];
}

type Ask = (one: Untyped) => unknown;

const ASKS: Readonly<Record<string, Ask>> = {
  'beside an instance': (one) => one.mixed.text,
  'a method beside an instance': (one) => one.mixed.target.add(2),
  'a getter beside an instance': (one) => one.mixed.target.mixed.text,
  'a function beside an instance': (one) => one.mixed.add(2),
  'a property of a function': (one) => one.mixed.add.step,
  'a stub beside an instance': (one) => one.mixed.stub.add(2),
  'a getter of a stub': (one) => one.mixed.stub.mixed.text,
  'a function of a stub': (one) => one.mixed.stub.mixed.add(2),
  'an object beside an instance': (one) => one.mixed.peer.text(),
  'a getter of an object': (one) => one.mixed.peer.mixed.text,
  'a list': (one) => one.mixed.list,
  'deep beside an instance': (one) => one.mixed.deep.at.text,
  nothing: (one) => one.mixed.none,
  'a getter of a held target': async (one) => (await one.target).mixed.text,
  'a function of a held target': async (one) => (await one.target).mixed.add(2),
  'a held function of a getter': async (one) => {
    const adder = await one.adder;
    return [await adder(1), await adder.step, await adder.at.deep];
  },
  'a property of a method': (one) => one.echo.name,
  'the whole': (one) => one.mixed,
  'a part with an instance': (one) => one.mixed.deep,
  'a result with an instance': (one) => one.made().text,
  'into an instance': (one) => one.mixed.own.held,
  'a method in an instance': (one) => one.mixed.own.held.add(1),
  'the length of a list': (one) => one.mixed.list.length,
  'into a map': (one) => one.mixed.map.size,
  'into nothing': (one) => one.mixed.none.text,
  'a local name of an object': (one) => one.mixed.peer.id,
  'a handler on the way': (one) => one.mixed.fetch(),
  'a handler of a target on the way': (one) => one.target.fetch(),
  'into a promise': (one) => one.promised.text,
  'into itself': (one) => one.self.text(),
  'what a text has not': (one) => one.text().nope,
  'a method that is missing': (one) => one.nope(),
  'a getter that is missing': (one) => one.nope,
  'on a way that is missing': (one) => one.nope.deeper,
  'a field': (one) => one.field,
  'a method that is a field': (one) => one.field(),
  'the context': (one) => one.ctx,
  'a handler': (one) => one.alarm(),
  'a handler of sockets': (one) => one.webSocketMessage(),
  'a handler that is missing': (one) => one.webSocketClose(),
  'a value that is called': (one) => one.mixed.text(),
  'a getter that is called': (one) => one.mixed(),
  'a result that is called': (one) => one.made().nope(),
  'a target that is called': async (one) => (await one.target)(),
  'a getter that fails': (one) => one.failing.text,
  'a stub after its disposal': async (one) => {
    const target = await one.target;
    target[Symbol.dispose]();
    return target.add(1);
  },
  'a function after its disposal': async (one) => {
    const adder = await one.adder;
    adder[Symbol.dispose]();
    return adder(1);
  },
  'a member of a disposed promise': (one) => {
    const promise = one.echo({ add: 1 });
    promise[Symbol.dispose]();
    return promise.add;
  },
  'a disposed stub as an argument': async (one) => {
    const target = await one.target;
    target.dup(); // keeps the target
    target[Symbol.dispose]();
    return one.add(target);
  },
  'the last disposed stub as an argument': async (one) => {
    const target = await one.target;
    target[Symbol.dispose]();
    return one.add(target);
  },
  'a disposed function as an argument': async (one) => {
    const adder = await one.adder;
    adder[Symbol.dispose]();
    return one.call(adder);
  },
  'a disposed function in an argument': async (one) => {
    const adder = await one.adder;
    adder[Symbol.dispose]();
    return one.call({ held: adder });
  },
  'a disposed stub that is given back': async (one) => {
    const target = await one.target;
    target[Symbol.dispose]();
    return (await one.echo(target)).add(1);
  },
  'a disposed stub in a result': async (one) => (await one.disposed()).stub.add(1),
  'a thrown object without a prototype': (one) =>
    one.failPlain().catch((error: Untyped) => [error.step, error instanceof Error]),
  'an instance as a result': (one) => one.instance(),
  'an instance as an argument': (one) => one.echo({ own: new Own(1) }),
  'a member as an argument': (one) => one.echo(one.mixed),
  'a symbol': (one) => one.symbol(),
  'a weak map': (one) => one.echo(new WeakMap()),
  'nested too deeply': (one) => one.echo(nested(100_000)),
  'nested too deeply in storage': (one) => one.storedTooDeep(),
  'a list that another ended': (one) => one.twoLists(),
  'a result of 33 MiB': async (one) => (await one.bytes(33 * 1024 * 1024)).length,
  'arguments of 33 MiB': (one) => one.sizeOf(new Uint8Array(33 * 1024 * 1024)),
  'the largest result': async (one) => (await one.bytes(PAYLOAD_BYTES_MAX - 64)).length,
  'the largest arguments': (one) => one.sizeOf(new Uint8Array(PAYLOAD_BYTES_MAX - 64)),
  'a call after those': (one) => one.text(),
  'the stack of a method': async function callerOfStub(one) {
    try {
      return await one.fail();
    } catch (error) {
      return stackOf(error);
    }
  },
  'the stack of a getter': async function callerOfStub(one) {
    try {
      return await one.failing;
    } catch (error) {
      return stackOf(error);
    }
  },
  'the stack of a callback': async function callerOfTarget(one) {
    const fail = await one.echo(() => {
      throw new RangeError('called back');
    });
    try {
      return await fail();
    } catch (error) {
      return stackOf(error);
    }
  },
  'the stack of a call between objects': (one) => one.failOfPeer(),
};

/** The description of an error; any other result as it is. */
async function told(ask: () => unknown): Promise<unknown> {
  try {
    const value = await ask();
    return value === undefined ? 'undefined' : value;
  } catch (error) {
    const { name, message } = error as Error;
    // The engines write some values with a few bytes more or less.
    return { error: `${name}: ${message.replace(/was: \d+ bytes/, 'was: that many bytes')}` };
  }
}

/** The result of each. */
export async function wordsAll(all: Untyped): Promise<Record<string, unknown>> {
  const one = all.getByName('one');
  const seen: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS)) seen[what] = await told(() => ask(one));
  return seen;
}

type Answers = Readonly<Record<string, unknown>>;

/** The answers here; an error is cut where workerd's ends, because ours may go on with the way out. */
export function cutTo(there: Answers, here: Answers): Answers {
  const cut = Object.entries(here).map(([what, answer]) => {
    const [theirs, ours] = [there[what], answer].map((one) => (one as Untyped)?.error);
    const isCut = typeof theirs === 'string' && typeof ours === 'string';
    return [what, isCut ? { error: ours.slice(0, theirs.length) } : answer];
  });
  return Object.fromEntries(cut);
}
