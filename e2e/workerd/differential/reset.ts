// A class whose object is reset in every way, and the results of its earlier stubs afterwards.

interface Bases {
  readonly DurableObject: new (ctx: never, env: never) => object;
}

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
type Untyped = any;

/** The class `Reset`. */
export function resetOf({ DurableObject }: Bases) {
  let refusals = 0;

  return class Reset extends DurableObject {
    declare readonly ctx: Untyped;
    declare readonly env: { readonly Reset: Untyped };
    #calls = 0;

    constructor(ctx: never, env: never) {
      super(ctx, env);
      const { name } = this.ctx.id;
      if (name === 'the constructor throws') {
        if (refusals++ === 0) throw new RangeError('in the constructor');
      }
    }

    count() {
      this.#calls += 1;
      return this.#calls;
    }
    abort(reason: string) {
      this.ctx.abort(reason);
    }
    async fail() {
      await this.ctx.blockConcurrencyWhile(async () => {
        throw new RangeError('in the section');
      });
    }
    fetch() {
      return new Response(String(this.count()));
    }
    /** Asks by a stub of its own, which `other` was reset under. */
    async askTwice(name: string) {
      const other = this.env.Reset.getByName(name);
      const before = await other.count();
      const ended = await told(other.abort('asked by another'));
      return [
        before,
        ended,
        await told(other.count()),
        await this.env.Reset.getByName(name).count(),
      ];
    }
  };
}

type Ask = (one: Untyped, again: () => Untyped) => unknown;

const ASKS: Readonly<Record<string, Ask>> = {
  'a stub after abort': async (one, again) => {
    const before = await one.count();
    const ended = await told(one.abort('x'));
    return [before, ended, await told(one.count()), await told(one.count()), await again().count()];
  },
  'fetch after abort': async (one, again) => {
    await one.abort('x').catch(() => {});
    return [
      await told(one.fetch('http://reset/')),
      await (await again().fetch('http://reset/')).text(),
    ];
  },
  'another stub that was used': async (one, again) => {
    const other = again();
    await other.count();
    await one.abort('x').catch(() => {});
    return [await told(other.count()), await again().count()];
  },
  'another stub that was not used': async (one, again) => {
    const other = again();
    await one.abort('x').catch(() => {});
    return told(other.count());
  },
  'a second reset': async (one, again) => {
    const other = again();
    await one.abort('first').catch(() => {});
    const third = again();
    await third.abort('second').catch(() => {});
    return [await told(one.count()), await told(other.count()), await told(third.count())];
  },
  'a section that fails': async (one, again) => {
    const ended = await told(one.fail());
    return [ended, await told(one.count()), await again().count()];
  },
  'the constructor throws': async (one, again) => {
    const ended = await told(one.count());
    return [ended, await told(one.count()), await again().count()];
  },
  'a stub of another object': (_one, again) => again().askTwice('asked'),
  'calls under way': async (one) => {
    const calls = [one.abort('x'), one.count()];
    return Promise.all(calls.map(told));
  },
};

/** The result, or the description of the error. */
async function told(call: Promise<unknown>): Promise<unknown> {
  try {
    const value = await call;
    return value instanceof Response ? await value.text() : value;
  } catch (error) {
    const {
      name,
      message,
      retryable = false,
      remote = false,
      durableObjectReset,
    } = error as Untyped;
    return { name, message, retryable, remote, durableObjectReset };
  }
}

/** The result of each. */
export async function resetAll(all: Untyped): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(ASKS)) {
    try {
      seen[what] = await ask(all.getByName(what), () => all.getByName(what));
    } catch (error) {
      seen[what] = String(error);
    }
  }
  return seen;
}
