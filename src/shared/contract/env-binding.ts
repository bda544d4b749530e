// A member of `env` with data of its own: objects of a class, and the client through which code uses them.
//
// Known by a mark, because bindings are bundled apart from the host, which knows nothing else of them.

import type { DurableObjectNamespace } from './object.ts';

/** On each binding. */
export const BINDING: unique symbol = Symbol.for('ctx-storage.binding') as never;

export interface BindingParts {
  /** The name of its class, which is hosted once for all bindings of the kind. */
  readonly className: string;
  readonly class: new (ctx: never, env: never) => object;
  /** The member of `env`, for the code whose calls the namespace makes. `name` is the member's. */
  client(objects: DurableObjectNamespace, name: string): object;
}

export interface EnvBinding {
  readonly [BINDING]: BindingParts;
}

export function bindingParts(value: unknown): BindingParts | undefined {
  return typeof value === 'object' && value !== null && BINDING in value
    ? (value as EnvBinding)[BINDING]
    : undefined;
}
