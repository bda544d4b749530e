// The user's object of an instance: constructed once from its class, with `ctx` and `env`.
//
// Invariant: handlers are known only after the constructor has returned. By the type of the state, no other state has any.

import { whileConstructing } from '../../../src/shared/contract/constructed-state.ts';
import { storageError } from '../../../src/shared/contract/errors.ts';
import type { AlarmInvocationInfo } from '../alarms/alarm-scheduler.ts';
import type { SocketHandlers } from '../sockets/hibernating-sockets.ts';
import {
  type DurableObjectState,
  type InstanceBindings,
  NO_BINDINGS,
} from './durable-object-state.ts';
import type { HostedClass } from './object-class.ts';

type State =
  | { readonly kind: 'unconstructed' }
  | { readonly kind: 'constructing'; readonly bindings: InstanceBindings }
  | { readonly kind: 'failed'; readonly bindings: InstanceBindings }
  | {
      readonly kind: 'constructed';
      readonly bindings: InstanceBindings;
      readonly object: object;
      readonly handlers: Handlers;
    };

const NO_HANDLERS: Handlers = {};

export class UserObject {
  readonly #class: HostedClass;
  #state: State = { kind: 'unconstructed' };

  constructor(objectClass: HostedClass) {
    this.#class = objectClass;
  }

  /** Constructs the user's object. @throws the error of the user's constructor */
  construct(ctx: DurableObjectState, bindings: InstanceBindings): void {
    this.#state = { kind: 'constructing', bindings };
    try {
      const { construct } = this.#class;
      const object = whileConstructing(
        ctx,
        () => new construct(ctx as never, bindings.env as never),
      );
      this.#state = { kind: 'constructed', bindings, object, handlers: handlersOf(object) };
    } catch (error) {
      this.#state = { kind: 'failed', bindings };
      throw error;
    }
  }

  /** The user's object; undefined unless it was constructed. */
  get object(): object | undefined {
    return this.#state.kind === 'constructed' ? this.#state.object : undefined;
  }

  get handlers(): Handlers {
    return this.#state.kind === 'constructed' ? this.#state.handlers : NO_HANDLERS;
  }

  /** The bindings with which the user's object was constructed. */
  get bindings(): InstanceBindings {
    return this.#state.kind === 'unconstructed' ? NO_BINDINGS : this.#state.bindings;
  }

  /** Refuses an alarm if the object has no handler, as workerd does. The constructor may set an alarm in any case. */
  checkAlarm(): void {
    if (this.#state.kind === 'constructing' || this.handlers.alarm !== undefined) return;
    throw storageError(
      'UNKNOWN_METHOD',
      `setAlarm: class ${this.#class.name} has no alarm() handler; give it one.`,
    );
  }
}

/**
 * The members that the host calls, each bound to its object. Callers call the others.
 *
 * Like workerd, a host reads them once, when the object has been constructed: a field or a getter counts
 * as much as a method, and a function assigned later is not a handler.
 */
export interface Handlers extends SocketHandlers {
  readonly fetch?: (request: Request) => unknown;
  readonly alarm?: (info: AlarmInvocationInfo) => unknown;
}

const HANDLERS = ['fetch', 'alarm', 'webSocketMessage', 'webSocketClose'] as const;

/** Reads the handlers of an object. @throws the error of a getter */
function handlersOf(object: object): Handlers {
  const handlers: Record<string, (...parameters: never[]) => unknown> = {};
  for (const name of HANDLERS) {
    const member: unknown = Reflect.get(object, name);
    if (typeof member !== 'function') continue;
    handlers[name] = (...parameters) => Reflect.apply(member, object, parameters);
  }
  return handlers;
}
