// The server with rooms that pages may follow. Others enter them by WebSockets, as before.

import { followable } from 'ctx-storage/followable';
import { Room as RoomClass } from '../room.ts';
import type { Env } from '../server.ts';
import { sessionOf } from '../sessions.ts';

export { Account, default } from '../server.ts';

export const Room = followable(RoomClass, {
  // Who has signed in may read and write. What is written has their name, by `ctx.caller`.
  authorize: (request, { env }) => sessionOf(request, env as Env),
  methods: ['say', 'messages'],
  version: 1,
});
