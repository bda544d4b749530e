// Installs the globals for sockets: WebSocketPair, WebSocket, and a Response that can carry a socket.
//
// A browser's Response refuses status 101, so it is constructed with another status, which is then overridden. For every
// other use, the classes behave as before.

import { refuseToClone } from '../../values/object-kind.ts';
import { replaceGlobal, undoAll } from '../io/replace-global.ts';
import { closeEventClass } from './close-event.ts';
import { socketParts, WebSocket, WebSocketPair } from './web-socket.ts';

const AUTO_RESPONSE_CHARACTERS_MAX = 2048;

/** A message and the automatic response to it, which a socket sends without waking its object. */
export class WebSocketRequestResponsePair {
  readonly request: string;
  readonly response: string;

  constructor(request: string, response: string) {
    if (response === undefined) {
      throw new TypeError(
        'WebSocketRequestResponsePair: 2 arguments needed, a request and a response.',
      );
    }
    this.request = checkLength('request', String(request));
    this.response = checkLength('response', String(response));
  }

  get [Symbol.toStringTag](): string {
    return 'WebSocketRequestResponsePair';
  }
}

refuseToClone(WebSocketRequestResponsePair);

function checkLength(what: 'request' | 'response', text: string): string {
  if (text.length <= AUTO_RESPONSE_CHARACTERS_MAX) return text;
  const named = what === 'request' ? 'Request' : 'Response';
  // The message is workerd's, which calls the characters bytes.
  throw new RangeError(
    `${named} cannot be larger than ${AUTO_RESPONSE_CHARACTERS_MAX} bytes. ` +
      `A ${what} of size ${text.length} was provided.`,
  );
}

interface SocketResponseInit extends ResponseInit {
  readonly webSocket?: WebSocket | null;
}

type Scope = typeof globalThis;
type NativeWebSocket = new (...parameters: unknown[]) => object;

/**
 * Installs the classes in the scope. Call the result to restore it.
 *
 * `WebSocket` has workerd's members. `new WebSocket(address)` still opens a socket of the scope's own class,
 * and both kinds are `instanceof WebSocket`.
 */
export function installSocketClasses(scope: Scope): () => void {
  const native = (scope as { WebSocket?: NativeWebSocket }).WebSocket;
  // Other code may have restored the scope's class while another host ran.
  if (native !== undefined && native.prototype !== WebSocket.prototype) {
    Object.setPrototypeOf(WebSocket.prototype, native.prototype as object);
  }
  const isSocket = (value: unknown) =>
    socketParts(value) !== undefined || (native !== undefined && value instanceof native);
  const replacement = new Proxy(WebSocket, {
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
    WebSocket: replacement,
    CloseEvent: closeEventClass(),
  };
  const undo = Object.entries(classes).map(([name, value]) => replaceGlobal(scope, name, value));
  return () => undoAll(undo);
}

/** Lets the scope's Response carry a socket. Call the result to restore it. */
export function installSocketResponse(scope: Scope): () => void {
  return replaceGlobal(scope, 'Response', socketResponse(scope.Response));
}

function socketResponse(Native: typeof Response): typeof Response {
  const Wrapped: typeof Response = new Proxy(Native, {
    construct(target, [body, init, ...rest], newTarget) {
      const maker = newTarget === Wrapped ? target : newTarget;
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
  return Wrapped;
}

/** Adds the socket to the response, and sets its status to 101. */
export function withSocket(response: Response, socket: WebSocket): Response {
  const facts = { status: 101, ok: false, webSocket: socket };
  for (const [name, value] of Object.entries(facts)) {
    Object.defineProperty(response, name, { value, configurable: true });
  }
  return response;
}

/** Returns the socket that a response carries; null if there is none. */
export function socketOf(response: Response): WebSocket | null {
  const socket = (response as { webSocket?: unknown }).webSocket;
  return socketParts(socket) === undefined ? null : (socket as WebSocket);
}
