// The globals that object code uses for sockets: WebSocketPair, and a Response that can carry one.
//
// A browser's Response refuses status 101, so that one is made with another status and says 101.
// The classes stay what they are for everything else.

import { WebSocket, WebSocketPair } from './web-socket.ts';

/** Request and answer that a socket exchanges without waking its object. */
export class WebSocketRequestResponsePair {
  readonly request: string;
  readonly response: string;

  constructor(request: string, response: string) {
    this.request = String(request);
    this.response = String(response);
  }
}

interface SocketResponseInit extends ResponseInit {
  readonly webSocket?: WebSocket | null;
}

type Scope = typeof globalThis;

/** Puts them into the scope; the result undoes it. */
export function installSockets(scope: Scope): () => void {
  const names = ['WebSocketPair', 'WebSocketRequestResponsePair', 'WebSocket', 'Response'] as const;
  const before = names.map((name) => Object.getOwnPropertyDescriptor(scope, name));
  const native = (scope as { WebSocket?: { prototype: object } }).WebSocket;
  // `instanceof WebSocket` holds for both kinds; the browser's own keeps its constructor.
  if (native !== undefined && native.prototype !== WebSocket.prototype) {
    Object.setPrototypeOf(WebSocket.prototype, native.prototype);
  }
  const values = [
    WebSocketPair,
    WebSocketRequestResponsePair,
    native ?? WebSocket,
    socketResponse(scope.Response),
  ];
  names.forEach((name, i) => {
    const descriptor = { value: values[i], configurable: true, writable: true, enumerable: false };
    Object.defineProperty(scope, name, descriptor);
  });
  return () => {
    names.forEach((name, i) => {
      const descriptor = before[i];
      if (descriptor === undefined) Reflect.deleteProperty(scope, name);
      else Object.defineProperty(scope, name, descriptor);
    });
  };
}

function socketResponse(Native: typeof Response): typeof Response {
  const Patched: typeof Response = new Proxy(Native, {
    construct(target, [body, init, ...rest], newTarget) {
      const maker = newTarget === Patched ? target : newTarget;
      const socket = (init as SocketResponseInit | undefined)?.webSocket;
      if (socket === undefined || socket === null) {
        return Reflect.construct(target, [body, init, ...rest], maker);
      }
      const { status, headers, statusText } = init as SocketResponseInit;
      if (WebSocket.parts(socket) === undefined) {
        throw new TypeError('webSocket is not a WebSocket; give one end of a WebSocketPair.');
      }
      if (status !== 101) {
        throw new RangeError('Responses with a WebSocket must have status code 101.');
      }
      if (body !== null && body !== undefined) {
        throw new TypeError('A response with status 101 cannot have a body.');
      }
      const parts = { ...(headers && { headers }), ...(statusText && { statusText }) };
      return withSocket(Reflect.construct(target, [null, parts], maker), socket);
    },
  });
  return Patched;
}

/** Marks a response as the one that carries the socket. */
export function withSocket(response: Response, socket: WebSocket): Response {
  const facts = { status: 101, ok: false, webSocket: socket };
  for (const [name, value] of Object.entries(facts)) {
    Object.defineProperty(response, name, { value, configurable: true });
  }
  return response;
}

/** The socket a response carries; null for others. */
export function socketOf(response: Response): WebSocket | null {
  const socket = (response as { webSocket?: unknown }).webSocket;
  return WebSocket.parts(socket) === undefined ? null : (socket as WebSocket);
}
