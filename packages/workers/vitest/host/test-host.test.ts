import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Namespace } from '../../../../src/shared/contract/object.ts';
import { env as moduleEnv } from '../../../../worker/realm/library/running-object.ts';
import { DurableObject } from '../../../../worker/start/entries/node-objects.ts';
import { TestHost } from './test-host.ts';

class Box extends DurableObject {
  #calls = 0;
  count(): number {
    return ++this.#calls;
  }
  abort(): void {
    this.ctx.abort('on purpose');
  }
}

let host: TestHost;
beforeEach(async () => {
  host = new TestHost();
  host.prepare({ classes: [{ name: 'Box', storage: 'sql' }], options: {}, missing: {} });
  await host.start({ main: { Box }, workers: {} as never });
});
afterEach(() => host.end());

test('[STUB27] [VT2] a stub of a test breaks with its instance, as in Cloudflare’s plugin, whichever `env` made it', async () => {
  for (const env of [moduleEnv, host.objects.env] as unknown as { Box: Namespace<Box> }[]) {
    const box = env.Box.getByName('a');
    const other = env.Box.getByName('a');
    await other.count();
    await expect(box.abort()).rejects.toThrow('on purpose');
    await expect(box.count()).rejects.toThrow('on purpose');
    await expect(other.count()).rejects.toThrow('on purpose');
    expect(await env.Box.getByName('a').count()).toBe(1);
  }
});
