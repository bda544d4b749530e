// Rooms in this browser, in a worker that all tabs share. There is no server.

import start from 'virtual:ctx-storage/start';
import { connect } from 'ctx-storage';

const connected = connect<{ ROOM: object }>(start);

export async function openSocket(room: string, query: URLSearchParams) {
  const { env } = await connected;
  const response = await env.ROOM.getByName(room).fetch(`https://room/?${query}`, {
    headers: { Upgrade: 'websocket' },
  });
  const socket = response.webSocket!;
  socket.accept();
  return socket;
}
