// Published classes of `npm run fidelity` are followed as they are, in this process and on workerd.

import { afterAll, beforeAll, describe, test } from 'vitest';
import { followable } from '../../../packages/follow/server/index.ts';
import { connectionsOf } from '../../../packages/follow/testing/followed-server.ts';
import { createObjects } from '../../../worker/start/entries/node-objects.ts';
import { FOLLOWED_CLASSES, loadClass } from './followed-classes.ts';
import { type DumpedStorage, dumpOf } from './followed-dump.ts';
import { followWithoutChange, type ScenarioServer } from './followed-scenario.ts';
import { type ClassesInWorkerd, serveClassesInWorkerd } from './followed-workerd.ts';

const CLASSES = FOLLOWED_CLASSES.map((one) => [one.name, one] as const);

type Stub = Record<string, (...args: unknown[]) => Promise<unknown>> & {
  fetch(url: string, init: RequestInit): Promise<Response>;
};

describe('a server in this process', () => {
  test.for(CLASSES)('[FOLP24] %s is followed without a change', async ([, one]) => {
    const Class = await loadClass(one);
    const options = { authorize: () => 'someone', methods: one.methods, version: 1 };
    const Room = followable(Class, options as never);
    const objects = await createObjects({ Room: Room as never });
    const { env } = objects as unknown as { env: { Room: { getByName(name: string): Stub } } };
    const stub = () => env.Room.getByName('a');
    const storage = () => objects.storage(stub() as never);
    const connections = connectionsOf((headers) => stub().fetch('http://server/', { headers }));
    const server: ScenarioServer = Object.assign(connections, {
      call: (method: string, ...args: unknown[]) => stub()[method]!(...args),
      restart: async () => {
        await (await storage()).abort('restarted by the test').catch(() => {});
      },
      dump: async () => dumpOf((await storage()) as unknown as DumpedStorage),
    });
    try {
      await followWithoutChange(one, Class, server);
    } finally {
      await server.dump(); // This call waits until the server has handled the closed connections.
      await objects.close();
    }
  });
});

describe('a server on workerd', () => {
  let workerd: ClassesInWorkerd;
  beforeAll(async () => {
    workerd = await serveClassesInWorkerd();
  });
  afterAll(() => workerd.close());

  test.for(CLASSES)('[FOLP24] %s is followed without a change', async ([, one]) => {
    await followWithoutChange(one, await loadClass(one), workerd.server(one));
  });
});
