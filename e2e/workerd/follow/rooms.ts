// Rooms to follow: in workerd, and here.

import { fileURLToPath } from 'node:url';
import type { Miniflare } from 'miniflare';
import { DurableObject } from '../../../worker/realm/library/base-classes.ts';
import { createObjects, evictDurableObject } from '../../../worker/start/entries/node-objects.ts';
import { startInWorkerd } from '../workerd.ts';
import type { FollowRoom } from './client.ts';
import { followedRoom } from './followed-room.ts';

export interface Rooms {
  /** The host of every request. */
  readonly host: string;
  room(name: string): FollowRoom;
  close(): Promise<void>;
}

export interface RoomsInNode extends Rooms {
  /** Ends the instance, and keeps its sockets. */
  evict(name: string): Promise<void>;
  /** Runs the action, and takes the object back to before it. */
  undone(name: string, action: () => Promise<unknown>): Promise<void>;
}

export async function roomsInNode(): Promise<RoomsInNode> {
  const { env, storage, close } = await createObjects({
    Room: followedRoom(DurableObject as never),
  });
  return {
    host: 'room',
    room: (name) => ({
      fetch: (headers) => env.Room.getByName(name).fetch('https://room/', { headers }),
      async call(method, ...args) {
        const stub = env.Room.getByName(name) as unknown as Record<string, Function>;
        return await stub[method]!(...args);
      },
    }),
    evict: (name) => evictDurableObject(env.Room.getByName(name)),
    async undone(name, action) {
      const stored = await storage(env.Room.getByName(name));
      const before = await stored.getCurrentBookmark();
      await action();
      await stored.restore(before);
    },
    close,
  };
}

/** `Room`: its class, in a module beside this one. */
const FOLLOWED_ROOM = `
  import { followedRoom } from './followed-room.ts';
  export const Room = followedRoom(DurableObject);`;

/** The source of the function with which a worker answers a request, or a call of `callsBy`, by asking the object. */
export const ANSWER = `
  async function answer(stub, request) {
    if (request.method !== 'POST') return stub.fetch(request);
    const { method, args } = await request.json();
    try {
      return Response.json({ result: await stub[method](...args) });
    } catch (error) {
      return Response.json({ error: String(error) });
    }
  }`;

/** Calls of methods at an address of a worker that answers so. */
export function callsBy(miniflare: Miniflare, url: string): FollowRoom['call'] {
  return async (method, ...args) => {
    const body = JSON.stringify({ method, args });
    const answer = await miniflare.dispatchFetch(url, { method: 'POST', body });
    const { result, error } = (await answer.json()) as { result: unknown; error?: string };
    if (error !== undefined) throw new Error(error);
    return result;
  };
}

const MAIN = `
  import { DurableObject } from 'cloudflare:workers';
  ${ANSWER}
  export default {
    fetch: (request, env) =>
      answer(env.ROOM.getByName(new URL(request.url).pathname.slice(1)), request),
  };`;

export async function roomsInWorkerd(
  room = FOLLOWED_ROOM,
  compatibilityFlags: readonly string[] = [],
): Promise<Rooms> {
  const miniflare = await startInWorkerd({
    main: MAIN + room,
    folder: fileURLToPath(new URL('.', import.meta.url)),
    classes: { ROOM: 'Room' },
    compatibilityDate: '2026-07-30',
    compatibilityFlags,
    isSilent: true,
  });
  return {
    // Miniflare passes the address that was asked for, and the host of its own.
    host: (await miniflare.ready).host,
    room: (name) => ({
      fetch: (headers) => miniflare.dispatchFetch(`http://room/${name}`, { headers }) as never,
      call: callsBy(miniflare, `http://room/${name}`),
    }),
    close: () => miniflare.dispose(),
  };
}
