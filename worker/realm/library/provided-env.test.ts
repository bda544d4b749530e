import { afterEach, describe, expect, test, vi } from 'vitest';
import { kv } from '../../../packages/workers/bindings/index.ts';
import type { ClassTable } from '../../objects/instance/object-class.ts';
import {
  createObjects,
  DurableObject,
  env,
  type NodeOptions,
  provideEnv,
  runInDurableObject,
  WorkerEntrypoint,
} from '../../start/entries/node-objects.ts';

/** A value of user code, whose types this file does not know. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

type Namespace = {
  idFromName(name: string): { toString(): string };
  getByName(name: string): { hi(): Promise<unknown> };
};

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
  provideEnv({});
});

async function start(classes: ClassTable, options?: NodeOptions) {
  const objects = await createObjects(classes, options);
  close = objects.close;
  return objects.env as unknown as { Keeper: Namespace; KEEPER: Namespace };
}

/** Does what a module of user code does while it is evaluated: reads `env`, and defines a class. */
function evaluate() {
  const KEEP_MS = env.KEEP_MS;
  const namespace = env.KEEPER as Namespace;
  class Keeper extends DurableObject<{ KEEP_MS: number }> {
    static readonly limit = env.KEEP_MS;
    hi() {
      return [KEEP_MS, Keeper.limit, this.env.KEEP_MS, env.KEEP_MS, this.ctx.id.name];
    }
  }
  return { Keeper, namespace };
}

const NAMES = { bindings: { KEEPER: 'Keeper' }, scriptName: 'script' };

describe('env while modules are evaluated', () => {
  test('[NODE15] a provided env exists before a host runs, and its objects get it', async () => {
    provideEnv({ KEEP_MS: 5 }, NAMES);
    expect(Object.keys(env)).toEqual(['KEEP_MS', 'KEEPER']);
    const { Keeper, namespace } = evaluate();
    const atLoad = namespace.idFromName('a').toString();
    const objects = await start({ Keeper });
    expect(objects.KEEPER.idFromName('a').toString()).toBe(atLoad);
    expect(await objects.KEEPER.getByName('a').hi()).toEqual([5, 5, 5, 5, 'a']);
  });

  test('[NODE15] a namespace that was read then serves while a host runs, and says so when none does', async () => {
    provideEnv({}, NAMES);
    const { Keeper, namespace } = evaluate();
    const call = () => namespace.getByName('a').hi();
    await expect((async () => call())()).rejects.toThrow(/no host of objects runs/);
    await start({ Keeper });
    expect(await call()).toMatchObject({ 4: 'a' });
    await close!();
    await expect((async () => call())()).rejects.toThrow(/no host of objects runs/);
  });

  test("[NODE15] a host's own option replaces the provided one, and the other provided options stay", async () => {
    provideEnv({ KEEP_MS: 5, OTHER: 1 }, NAMES);
    const { Keeper } = evaluate();
    const objects = await start({ Keeper }, { env: { KEEP_MS: 6 } });
    expect(Object.keys(env).sort()).toEqual(['KEEPER', 'KEEP_MS', 'Keeper']);
    expect(await objects.KEEPER.getByName('a').hi()).toEqual([5, 5, 6, 6, 'a']);
  });

  test('[NODE15] a class whose ids are made otherwise than was provided is refused', async () => {
    provideEnv({}, NAMES);
    const { Keeper } = evaluate();
    const other = { Keeper: { class: Keeper, uniqueKey: 'other' } };
    await expect(start(other)).rejects.toMatchObject({ code: 'CLASS_INVALID' });
    await expect(start({ Keeper }, { scriptName: 'another' })).rejects.toThrow(
      /provideEnv.*KEEPER.*"script-Keeper".*"another-Keeper"/,
    );
  });
});

describe('one env', () => {
  class Box extends DurableObject<Record<string, unknown>> {
    sees(name: string): unknown {
      return this.env[name] ?? null;
    }
    reads(): unknown {
      return (this.env.KV as Untyped).get('k');
    }
    isOwn(name: string): boolean {
      return this.env[name] === env[name];
    }
  }
  class Api extends WorkerEntrypoint {
    hi(): string {
      return 'hi';
    }
  }
  /** Calls `see` with `env` inside an event of the worker, and returns its result. */
  const inside = async (
    see: (env: Record<string, never>) => unknown,
    options: NodeOptions = {},
  ): Promise<unknown> => {
    const main = {
      fetch: async (_request: Request, env: never) => Response.json(await see(env)),
    };
    const objects = await createObjects({ Box }, { ...options, exports: { default: main, Api } });
    close = objects.close;
    return (await objects.worker.fetch('http://x/')).json();
  };
  const own = () => ({
    bindings: { BOX: 'Box', KV: kv() },
    services: { API: { entrypoint: 'Api' } },
  });

  test('[NODE15] members that a module has read are those of events and objects, and work', async () => {
    provideEnv({}, own());
    const { KV, BOX, API } = env as Record<string, never>;
    const seen = await inside(async (given) => {
      await (KV as Untyped).put('k', 'v');
      const box = (given.BOX as Untyped).getByName('a');
      return [
        [given.KV === KV, given.BOX === BOX, given.API === API],
        [await box.isOwn('KV'), await box.isOwn('BOX'), await box.isOwn('API')],
        [await (given.KV as Untyped).get('k'), await (API as Untyped).hi()],
      ];
    });
    expect(seen).toEqual([
      [true, true, true],
      [true, true, true],
      ['v', 'hi'],
    ]);
  });

  test('[NODE15] a service with props can be read by a module, and has them while a host runs', async () => {
    class Named extends WorkerEntrypoint<object, { name: string }> {
      name(): string {
        return this.ctx.props.name;
      }
    }
    const services = { NAMED: { entrypoint: 'Named', props: { name: 'given' } } };
    provideEnv({}, { services });
    const { NAMED } = env as { NAMED: Untyped };
    await expect((async () => NAMED.name())()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    for (const run of ['first', 'second']) {
      const objects = await createObjects({}, { exports: { default: {}, Named } });
      close = objects.close;
      expect([await NAMED.name(), env.NAMED === NAMED], run).toEqual(['given', true]);
      await close();
    }
  });

  test('[ENTRY11] objects, events and the import see a member that one of them has changed, added or removed', async () => {
    const seen = await inside(
      async (given) => {
        const box = (given.Box as Untyped).getByName('a');
        (given as Untyped).NAME = 'changed';
        env.ADDED = 1;
        delete env.GONE;
        const names = ['NAME', 'ADDED', 'GONE'];
        return [
          names.map((name) => (given[name] as unknown) ?? null),
          names.map((name) => env[name] ?? null),
          await Promise.all(names.map((name) => box.sees(name))),
        ];
      },
      { env: { NAME: 'given', GONE: true } },
    );
    const all = ['changed', 1, null];
    expect(seen).toEqual([all, all, all]);
  });

  test('[ENTRY11] a method of a binding that code replaces is replaced for objects, too', async () => {
    provideEnv({}, own());
    const seen = await inside(async (given) => {
      (given.KV as Untyped).get = async () => 'replaced';
      return (given.BOX as Untyped).getByName('a').reads();
    });
    expect(seen).toBe('replaced');
  });

  test('[NODE15] the members of a host end with it: the next one has its own, and the provided ones are there again', async () => {
    provideEnv({ NAME: 'given' });
    const options = { bindings: { BOX: 'Box', KV: kv() }, env: { NAME: 'own' } };
    for (const run of ['first', 'second']) {
      const reads = (given: Record<string, never>) =>
        (given.BOX as Untyped).getByName('a').sees('NAME');
      expect(await inside(reads, options), run).toBe('own');
      const write = () =>
        inside(async (given) => {
          await (given.KV as Untyped).put('k', run);
          return (given.KV as Untyped).get('k');
        }, options);
      await close!();
      expect(await write(), run).toBe(run);
      await close!();
      expect({ ...env }, run).toEqual({ NAME: 'given' });
    }
  });

  test('[NODE31] the env of createObjects is that of the code: values, fakes and spies of a test reach it', async () => {
    provideEnv({ NAME: 'given' });
    const main = {
      fetch: async (_request: Request, given: Untyped) =>
        Response.json([
          await given.KV.get('k'),
          given.NAME,
          await given.BOX.getByName('a').reads(),
          await given.BOX.getByName('a').sees('NAME'),
          await (env.KV as Untyped).get('k'),
        ]),
    };
    const options = { bindings: { BOX: 'Box', KV: kv() }, exports: { default: main } };
    const objects = await createObjects({ Box }, options);
    close = objects.close;
    const given = objects.env as Untyped;
    const ask = async () => (await objects.worker.fetch('http://x/')).json();
    expect(await ask()).toEqual([null, 'given', null, 'given', null]);
    const get = vi.spyOn(given.KV, 'get').mockResolvedValue('spied');
    given.NAME = 'set';
    expect(await ask()).toEqual(['spied', 'set', 'spied', 'set', 'spied']);
    expect(get).toHaveBeenCalledTimes(3);
    get.mockRestore();
    // The stubs of `objects.env` can be read live, unlike the stubs that code in objects gets.
    expect(given.BOX).not.toBe(env.BOX);
    const getByName = vi.spyOn(env.BOX as Untyped, 'getByName');
    given.KV = { get: async () => 'fake' };
    expect(await ask()).toEqual(['fake', 'set', 'fake', 'set', 'fake']);
    expect(getByName).toHaveBeenCalledTimes(2);
  });

  test('[NODE31] after its end, the env of createObjects still has its members, whose calls say so', async () => {
    provideEnv({ NAME: 'given' }, { bindings: { KV: kv() } });
    const objects = await createObjects({ Box });
    const box = (objects.env as Untyped).Box.getByName('a');
    expect(await box.sees('NAME')).toBe('given');
    await objects.close();
    const other = await createObjects({ Box });
    close = other.close;
    const ended = (objects.env as Untyped).Box.getByName('b').sees('NAME');
    await expect(ended).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
    expect(await (other.env as Untyped).Box.getByName('b').sees('NAME')).toBe('given');
    expect([env.NAME, env.KV]).toEqual(['given', (other.env as Untyped).KV]);
  });

  test('[NODE31] a binding of a host that has ended does not call another host', async () => {
    const ended = await createObjects({ Box }, { bindings: { KV: kv() } });
    const get = async () => (ended.env as Untyped).KV.get('key');
    expect(await get()).toBeNull();
    await ended.close();
    await start({ Box }, { bindings: { KV: kv() } });
    await expect(get()).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  });

  test('[NODE11] two hosts that run at once have each an env of their own', async () => {
    provideEnv({ NAME: 'given' });
    const first = await createObjects({ Box });
    const second = await createObjects({ Box });
    const change = async (box: Untyped) => {
      await runInDurableObject(box, (instance: Untyped) => {
        instance.env.NAME = 'changed';
      });
    };
    await change((first.env as Untyped).Box.getByName('a'));
    expect(await (second.env as Untyped).Box.getByName('a').sees('NAME')).toBe('given');
    await Promise.all([first.close(), second.close()]);
  });
});
