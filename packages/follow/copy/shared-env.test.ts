// Tests that the code of a class that follows, its Worker's events and a test see the same members of `env`.

import { afterEach, expect, test, vi } from 'vitest';
import {
  createObjects,
  DurableObject,
  env,
  provideEnv,
} from '../../../worker/start/entries/node-objects.ts';
import { kv } from '../../workers/bindings/index.ts';
import { followed } from '../app/followed.ts';
import { unreachable } from '../testing/followed-device.ts';
import { follow } from './follow.ts';

/** Stands for every type of the classes in this file, which an app might write in JavaScript. */
// biome-ignore lint/suspicious/noExplicitAny: the same members as an app's
type Untyped = any;

class Room extends DurableObject<Untyped> {
  async sees(): Promise<unknown[]> {
    const imported = env as Untyped;
    const values = [this.env.NAME, imported.NAME];
    return [...values, await this.env.KV.get('k'), await imported.KV.get('k')];
  }
}

const main = {
  fetch: async (_request: Request, given: Untyped) =>
    Response.json([given.NAME, ...(await given.ROOM.getByName('a').sees())]),
};

let close: (() => Promise<void>) | undefined;
afterEach(async () => {
  await close?.();
  close = undefined;
  provideEnv({});
});

test('[ENTRY11] fakes and values reach the forecasts of a class that follows, from a test and from an event', async () => {
  provideEnv({ NAME: 'given' }, { bindings: { ROOM: 'Room', KV: kv() } });
  const { ROOM } = env as Untyped;
  const objects = await createObjects(
    { Room },
    {
      exports: { default: main },
      follow: follow({ Room: { url: () => '', connect: unreachable } }),
    },
  );
  close = objects.close;
  const given = objects.env as Untyped;
  given.NAME = 'set';
  const get = vi.spyOn(given.KV, 'get').mockResolvedValue('spied');
  const seen = ['set', 'set', 'spied', 'spied'];
  expect(await given.ROOM.getByName('a').sees()).toEqual(seen);
  expect(await ROOM.getByName('b').sees()).toEqual(seen);
  expect(await (await objects.worker.fetch('http://x/')).json()).toEqual(['set', ...seen]);
  expect(get).toHaveBeenCalledTimes(6);
  expect(followed(given.ROOM.getByName('a')).state).toBe('offline');
  expect(followed(given.Room.getByName('a')).state).toBe('offline');
});
