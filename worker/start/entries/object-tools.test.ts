import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  abortAllDurableObjects,
  createObjects,
  DurableObject,
  evictAllDurableObjects,
  evictDurableObject,
  listDurableObjectIds,
  type Objects,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
} from './node-objects.ts';

class Room extends DurableObject {
  readonly made = crypto.randomUUID();
  private readonly secret = 7;

  async say(text: string): Promise<void> {
    await this.ctx.storage.put('said', text);
    await this.ctx.storage.setAlarm(Date.now() + 60_000);
  }

  fetch(): Response {
    const { WebSocketPair } = globalThis as unknown as { WebSocketPair: new () => object };
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server as never);
    return new Response(null, { status: 101, webSocket: client } as ResponseInit);
  }

  sockets(): number {
    return this.ctx.getWebSockets().length;
  }

  identity(): string {
    return `${this.made} ${this.secret}`;
  }

  async alarm(): Promise<void> {
    if ((await this.ctx.storage.get('said')) === 'fail') throw new Error('as told');
    await this.ctx.storage.put('rang', true);
  }
}

let objects: Objects<{ Room: typeof Room }>;
beforeEach(async () => {
  objects = await createObjects({ Room });
});
afterEach(() => objects.close());

describe('the names of the real runtime’s tests', () => {
  test('[NODE17] runInDurableObject sees the instance and its ctx', async () => {
    const room = objects.env.Room.getByName('a');
    await room.say('hello');
    const seen = await runInDurableObject(room, async (instance: Room, { storage, id }) => {
      await storage.put('said', 'again');
      return { isRoom: instance instanceof Room, name: id.name, made: instance.made };
    });
    expect(seen).toEqual({ isRoom: true, name: 'a', made: seen.made });
    expect(await room.identity()).toBe(`${seen.made} 7`);
    expect(await runInDurableObject(room, (_, { storage }) => storage.get('said'))).toBe('again');
  });

  test('[NODE17] runDurableObjectAlarm runs an alarm before its time, once', async () => {
    const room = objects.env.Room.getByName('a');
    expect(await runDurableObjectAlarm(room)).toBe(false);
    await room.say('hello');
    expect(await runDurableObjectAlarm(room)).toBe(true);
    expect(await runDurableObjectAlarm(room)).toBe(false);
    expect(await runInDurableObject(room, (_, { storage }) => storage.get('rang'))).toBe(true);
    await room.say('fail');
    await expect(runDurableObjectAlarm(room)).rejects.toThrow('as told');
    expect(await runInDurableObject(room, (_, { storage }) => storage.getAlarm())).toBe(null);
  });

  test('[NODE17] evictDurableObject ends the instance and keeps stored data', async () => {
    const room = objects.env.Room.getByName('a');
    await room.say('hello');
    const before = await room.identity();
    await evictDurableObject(room);
    expect(await room.identity()).not.toBe(before);
    expect(await runInDurableObject(room, (_, { storage }) => storage.get('said'))).toBe('hello');
    await evictDurableObject(objects.env.Room.getByName('never used'));
  });

  test('[NODE17] evictAllDurableObjects and abortAllDurableObjects end every instance, and keep stored data', async () => {
    const rooms = ['a', 'b'].map((name) => objects.env.Room.getByName(name));
    for (const endAll of [evictAllDurableObjects, abortAllDurableObjects]) {
      for (const room of rooms) await room.say('hello');
      const before = await Promise.all(rooms.map((room) => room.identity()));
      await endAll();
      const again = ['a', 'b'].map((name) => objects.env.Room.getByName(name));
      const after = await Promise.all(again.map((room) => room.identity()));
      expect(after.filter((identity) => before.includes(identity))).toEqual([]);
      for (const room of again) {
        expect(await runInDurableObject(room, (_, { storage }) => storage.get('said'))).toBe(
          'hello',
        );
      }
    }
  });

  test('[NODE17] an eviction keeps hibernating sockets, or closes them', async () => {
    const room = objects.env.Room.getByName('a');
    await room.fetch('http://room/', { headers: { upgrade: 'websocket' } });
    await evictDurableObject(room);
    expect(await room.sockets()).toBe(1);
    await evictAllDurableObjects({ webSockets: 'close' });
    expect(await room.sockets()).toBe(0);
    const wrong = evictDurableObject(room, { webSockets: 'keep' as never });
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  test('[NODE17] listDurableObjectIds lists existing objects, and reset deletes them', async () => {
    const { Room: rooms } = objects.env;
    await rooms.getByName('a').say('hello');
    await rooms.getByName('b').say('hello');
    const ids = await listDurableObjectIds(rooms);
    expect(ids.map(({ name }) => name).sort()).toEqual(['a', 'b']);
    await reset();
    expect(await listDurableObjectIds(rooms)).toEqual([]);
  });

  test('[NODE17] a stub that is not of this process is refused', async () => {
    const foreign = { id: 1 } as never;
    const refused = { code: 'INVALID_ARGUMENT' };
    await expect(runInDurableObject(foreign, () => 1)).rejects.toMatchObject(refused);
    await expect(runDurableObjectAlarm(foreign)).rejects.toMatchObject(refused);
    await expect(evictDurableObject(foreign)).rejects.toMatchObject(refused);
    await expect(listDurableObjectIds({})).rejects.toMatchObject(refused);
  });
});
