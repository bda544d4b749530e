// The handlers of a user's object: the members that the host calls. Callers call the others.
//
// Like workerd, a host reads them once, when the object has been constructed: a field or a getter counts
// as much as a method, and a function assigned later is not a handler.

import type { AlarmInvocationInfo } from '../alarms/alarm-info.ts';
import type { SocketHandlers } from '../sockets/hibernating-sockets.ts';

/** Each is bound to its object. */
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
