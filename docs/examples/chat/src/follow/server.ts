// The server with rooms that pages may follow. Others enter them by WebSockets, as before.

import { followable } from 'ctx-storage/followable';
import { Room as RoomClass } from '../room.ts';

export { default } from '../server.ts';

export const Room = followable(RoomClass, {
  // Anybody may read and write. With accounts: who it is, from a cookie, or null.
  authorize: () => 'anybody',
  methods: ['say', 'messages'],
  version: 1,
});
