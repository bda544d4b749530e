import { afterEach, describe, expect, test } from 'vitest';
import type { ClassTable } from '../../objects/instance/object-class.ts';
import {
  createObjects,
  DurableObject,
  env,
  type NodeOptions,
  provideEnv,
} from '../../start/entries/node-objects.ts';

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

// In a function, for that is when a module is evaluated.
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

  test("[NODE15] a host's own options come first", async () => {
    provideEnv({ KEEP_MS: 5, OTHER: 1 }, NAMES);
    const { Keeper } = evaluate();
    const objects = await start({ Keeper }, { env: { KEEP_MS: 6 } });
    expect(await objects.Keeper.getByName('a').hi()).toEqual([5, 5, 6, 6, 'a']);
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
