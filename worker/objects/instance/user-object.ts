// The user's object of an instance: constructed once from its class, with `ctx` and `env`.
//
// Invariant: handlers are known only after the constructor has returned.

import { storageError } from '../../src/contract/errors.ts';
import type { DurableObjectState } from './durable-object-state.ts';
import { type Handlers, handlersOf } from './handlers.ts';
import { type InstanceBindings, NO_BINDINGS } from './instance-bindings.ts';
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

  /** @throws what the user's constructor throws */
  construct(ctx: DurableObjectState, bindings: InstanceBindings): void {
    this.#state = { kind: 'constructing', bindings };
    try {
      const object = new this.#class.construct(ctx as never, bindings.env as never);
      this.#state = { kind: 'constructed', bindings, object, handlers: handlersOf(object) };
    } catch (error) {
      this.#state = { kind: 'failed', bindings };
      throw error;
    }
  }

  /** Undefined unless it was constructed. */
  get object(): object | undefined {
    return this.#state.kind === 'constructed' ? this.#state.object : undefined;
  }

  get handlers(): Handlers {
    return this.#state.kind === 'constructed' ? this.#state.handlers : NO_HANDLERS;
  }

  /** What it was constructed with. */
  get bindings(): InstanceBindings {
    return this.#state.kind === 'unconstructed' ? NO_BINDINGS : this.#state.bindings;
  }

  /** Refuses an alarm without a handler, as workerd does; the constructor may set one. */
  checkAlarm(): void {
    if (this.#state.kind === 'constructing' || this.handlers.alarm !== undefined) return;
    throw storageError(
      'UNKNOWN_METHOD',
      `setAlarm: class ${this.#class.name} has no alarm() handler; give it one.`,
    );
  }
}
