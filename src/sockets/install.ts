// The globals that object code uses for sockets: WebSocketPair, and a Response that can carry one.
//
// A browser's Response refuses status 101, so that one is made with another status and says 101.
// The classes stay what they are for everything else.

import { replaceGlobal, undoAll } from '../io/replace-global.ts';
import { closeEventClass } from './close-event.ts';
import { socketParts, WebSocket, WebSocketPair } from './web-socket.ts';

/** Request and answer that a socket exchanges without waking its object. */
export class WebSocketRequestResponsePair {
  readonly request: string;
  readonly response: string;

  constructor(request: string, response: string) {
    if (response === undefined) {
      throw new TypeError('WebSocketRequestResponsePair: a request and a response are needed.');
    }
    this.request = String(request);
    this.response = String(response);
  }

  get [Symbol.toStringTag](): string {
    return 'WebSocketRequestResponsePair';
  }
}

interface SocketResponseInit extends ResponseInit {
  readonly webSocket?: WebSocket | null;
}

type Scope = typeof globalThis;
type NativeWebSocket = new (...parameters: unknown[]) => object;

/**
 * Puts the classes into the scope; the result undoes it.
 *
 * `WebSocket` has workerd's members, `new WebSocket(address)` still makes the scope's own, and both
 * kinds are instances of it.
 */
export function installSocketClasses(scope: Scope): () => void {
  const native = (scope as { WebSocket?: NativeWebSocket }).WebSocket;
  // Somebody may have put back what stood here while another host ran.
  if (native !== undefined && native.prototype !== WebSocket.prototype) {
    Object.setPrototypeOf(WebSocket.prototype, native.prototype as object);
  }
  const isSocket = (value: unknown) =>
    socketParts(value) !== undefined || (native !== undefined && value instanceof native);
  const shown = new Proxy(WebSocket, {
    construct(_target, parameters) {
      if (native !== undefined) return new native(...parameters);
      throw new TypeError('This runtime has no WebSocket for outgoing connections.');
    },
    get: (target, name) =>
      name === Symbol.hasInstance ? isSocket : Reflect.get(target, name, target),
  });
  const classes = {
    WebSocketPair,
    WebSocketRequestResponsePair,
    WebSocket: shown,
    CloseEvent: closeEventClass(),
  };
  const undo = Object.entries(classes).map(([name, value]) => replaceGlobal(scope, name, value));
  return () => undoAll(undo);
}

/** Lets the scope's Response carry a socket; the result undoes it. */
export function installSocketResponse(scope: Scope): () => void {
  return replaceGlobal(scope, 'Response', socketResponse(scope.Response));
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
      if (socketParts(socket) === undefined) {
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
  return socketParts(socket) === undefined ? null : (socket as WebSocket);
}
