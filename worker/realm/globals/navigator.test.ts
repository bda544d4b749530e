import { afterEach, describe, expect, test, vi } from 'vitest';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';

const scope = globalThis as unknown as {
  navigator?: { userAgent: string; vendor?: string };
  Cloudflare?: { compatibilityFlags: Record<string, boolean> };
};

class Asked extends DurableObject {
  navigator() {
    return [scope.navigator?.userAgent, scope.navigator?.vendor];
  }
  flags(...names: string[]) {
    return names.map((name) => scope.Cloudflare!.compatibilityFlags[name]);
  }
}

afterEach(() => vi.unstubAllGlobals());

describe("object code's view of its runtime", () => {
  test('[OBJ19] without a navigator of the platform, objects alone have one', async () => {
    vi.stubGlobal('navigator', undefined);
    const objects = await createObjects({ Asked });
    expect(await objects.env.Asked.getByName('a').navigator()).toEqual([
      'Cloudflare-Workers',
      undefined,
    ]);
    expect([scope.navigator, scope.Cloudflare]).toEqual([undefined, undefined]);
    await objects.close();
  });

  test('[OBJ19] the platform’s navigator keeps its other members, and is unchanged for other code', async () => {
    const native = { userAgent: 'Browser/1', vendor: 'its' };
    vi.stubGlobal('navigator', native);
    const objects = await createObjects({ Asked });
    const seen = await objects.env.Asked.getByName('a').navigator();
    expect(seen).toEqual(['Cloudflare-Workers', 'its']);
    expect(scope.navigator).toEqual(native);
    expect(scope.navigator!.userAgent).toBe('Browser/1');
    await objects.close();
    expect(Object.getOwnPropertyDescriptors(native)).toEqual({
      userAgent: { value: 'Browser/1', writable: true, enumerable: true, configurable: true },
      vendor: { value: 'its', writable: true, enumerable: true, configurable: true },
    });
  });

  test('[NODE12] an assignment to a name while a host runs stays', async () => {
    vi.stubGlobal('navigator', undefined);
    const objects = await createObjects({ Asked });
    scope.navigator = { userAgent: 'mine' };
    expect(scope.navigator.userAgent).toBe('mine');
    await objects.close();
    expect(scope.navigator.userAgent).toBe('mine');
  });

  test('[OBJ19] flags follow the compatibility date of the class', async () => {
    const at = (compatibilityDate: string) => ({ class: Asked, compatibilityDate });
    const objects = await createObjects({ Old: at('2026-02-23'), New: at('2026-02-24'), Asked });
    const names = ['rpc', 'delete_all_deletes_alarm', 'nodejs_compat'];
    const { Old, New, Asked: Undated } = objects.env;
    expect(await Old.getByName('a').flags(...names)).toEqual([true, false, undefined]);
    expect(await New.getByName('a').flags(...names)).toEqual([true, true, undefined]);
    expect(await Undated.getByName('a').flags(...names)).toEqual([true, false, undefined]);
    await objects.close();
  });
});
