// A server of the worlds of converging.ts in workerd.

import type { ConvergingServer } from '../../../packages/follow/testing/converging.ts';
import { connectionsOf } from '../../../packages/follow/testing/followed-server.ts';
import { roomsInWorkerd } from './rooms.ts';

const ROOM = `
  import { followable } from '../../../packages/follow/server/index.ts';
  import { MIXED_METHODS, mixedClass } from '../../../packages/follow/testing/mixed-class.ts';
  const options = { authorize: () => 'someone', methods: MIXED_METHODS, version: 1 };
  export const Room = followable(mixedClass(DurableObject), options);`;

export interface ServerInWorkerd {
  /** A server of an object of its own. */
  server(name: string): ConvergingServer;
  close(): Promise<void>;
}

export async function serveInWorkerd(): Promise<ServerInWorkerd> {
  const rooms = await roomsInWorkerd(ROOM);
  return {
    server(name) {
      const { fetch, call } = rooms.room(name);
      return Object.assign(connectionsOf(fetch), { call });
    },
    close: rooms.close,
  };
}
