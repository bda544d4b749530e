// The handlers of a user's object: what the runtime calls on it, beside its methods that others call.
//
// Keeps true: they are read once, when the object has been constructed, as workerd reads them: a field
// and a getter count as much as a method, and what is assigned later is not a handler.

import type { AlarmInvocationInfo } from '../alarms/alarm-info.ts';
import type { SocketHandlers } from '../sockets/hibernating-sockets.ts';

/** Each is called on its object. */
export interface Handlers extends SocketHandlers {
  readonly fetch?: (request: Request) => unknown;
  readonly alarm?: (info: AlarmInvocationInfo) => unknown;
}

const NAMES = ['fetch', 'alarm', 'webSocketMessage', 'webSocketClose'] as const;

/** @throws what a getter throws */
export function handlersOf(object: object): Handlers {
  const handlers: Record<string, (...parameters: never[]) => unknown> = {};
  for (const name of NAMES) {
    const member: unknown = Reflect.get(object, name);
    if (typeof member === 'function') handlers[name] = member.bind(object);
  }
  return handlers;
}
