// A critical section that does not end, in real time: the limit is a fuse, which no driven clock moves.

import { expect, test } from 'vitest';
import { createObjects, DurableObject } from '../../start/entries/node-objects.ts';

test('[OBJ21] a section that does not end resets its object, with the marks by which workerd tells that', async () => {
  class Stuck extends DurableObject {
    wait(): Promise<never> {
      return this.ctx.blockConcurrencyWhile(() => new Promise<never>(() => {}));
    }
    free(): boolean {
      return true;
    }
  }
  const { env, clock, close } = await createObjects({ Stuck });
  const stuck = env.Stuck.getByName('a');
  const wait = stuck.wait().catch((error: Error) => error);
  await clock.advance(30_000);
  const error = await wait;
  expect(error).toMatchObject({ code: 'TRANSACTION_TIMEOUT', overloaded: true });
  expect(Object.keys(error)).toEqual(expect.arrayContaining(['overloaded', 'durableObjectReset']));
  expect(await env.Stuck.getByName('a').free()).toBe(true);
  await close();
});
