// Rooms in this browser, in a worker that all tabs share. There is no server, and nobody else: a tab says who enters.

import start from 'virtual:ctx-storage/start';
import { connect } from 'ctx-storage';
import { AUTHOR_HEADER } from './message.ts';

const connected = connect<{ ROOM: object }>(start);

export async function openSocket(room: string, lastId: number, author: string) {
  const { env } = await connected;
  const response = await env.ROOM.getByName(room).fetch(`https://room/?after=${lastId}`, {
    headers: { Upgrade: 'websocket', [AUTHOR_HEADER]: encodeURIComponent(author) },
  });
  const socket = response.webSocket!;
  socket.accept();
  return socket;
}
