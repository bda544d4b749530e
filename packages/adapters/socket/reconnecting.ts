// The entry `ctx-storage/socket`: sockets of objects that connect again when the leading tab closes, and a way to route
// the page's own `fetch` and `WebSocket` to its worker.
//
// It contains no code of the page's entry, and uses only the interface of that entry's stubs.

import type { ObjectResponse } from '@ctx-storage/core/object';
import { ReconnectingSocket } from './reconnecting-socket.ts';

export type {
  ReconnectingEvents,
  ReconnectingSocket,
  SocketMessage,
} from './reconnecting-socket.ts';
export { type RequestTarget, type RoutedScope, routeToWorker } from './route-to-worker.ts';

/** The member of a stub that `reconnecting` uses. */
export interface SocketStub {
  fetch(input: string | URL, init?: RequestInit): Promise<ObjectResponse>;
}

/**
 * A socket of an object, by `fetch(url, { ...init, headers: { Upgrade: 'websocket' } })` of its stub. It connects again
 * when the connection is lost: when the leading tab closes, its worker dies or the object is reset. It needs no
 * `accept()`. The object closes it for good with any code of its own.
 *
 * `stubOf` gives the stub of each connection, `() => env.Room.getByName('lobby')`. Messages to a connection that is
 * lost may have arrived or not.
 */
export function reconnecting(
  stubOf: () => SocketStub,
  url: string | URL,
  init: RequestInit = {},
): ReconnectingSocket {
  return new ReconnectingSocket({
    async request() {
      const headers = new Headers(init.headers);
      headers.set('Upgrade', 'websocket');
      return stubOf().fetch(url, { ...init, headers });
    },
    after: (delayMs, task) => void setTimeout(task, delayMs),
  });
}
