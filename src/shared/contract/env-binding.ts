// A member of `env` with data of its own: objects of a class, and the client through which code uses them.
//
// Known by a mark, because bindings are bundled apart from the host, which knows nothing else of them.

import type { DurableObjectNamespace } from './object.ts';
import type { EntryHandle } from './service.ts';

/** On each binding. */
export const BINDING: unique symbol = Symbol.for('ctx-storage.binding') as never;

export interface BindingParts {
  /** The name of its class, which is hosted once for all bindings of the kind. */
  readonly className: string;
  readonly class: new (ctx: never, env: never) => object;
  /** Where its objects send events. An entry point that does not exist fails the start. */
  readonly entry?: { readonly service?: string; readonly entrypoint?: string };
  /** The member of `env`, for the code whose calls the namespace makes. Absent: it has none. */
  client?(objects: DurableObjectNamespace): object;
  /** A member of the `env` of the class's own objects, which has nothing else. */
  inside?(objects: DurableObjectNamespace, entry: EntryHandle | undefined): object;
  /** Runs when the host has started; a rejection fails the start. */
  start?(objects: DurableObjectNamespace): Promise<unknown>;
}

export interface EnvBinding {
  /** Its parts, for its name. @throws CLASS_INVALID */
  readonly [BINDING]: (name: string) => BindingParts;
}

/** The parts of a binding; undefined for any other value. @throws CLASS_INVALID */
export function bindingParts(value: unknown, name: string): BindingParts | undefined {
  return typeof value === 'object' && value !== null && BINDING in value
    ? (value as EnvBinding)[BINDING](name)
    : undefined;
}
