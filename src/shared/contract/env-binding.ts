// Defines bindings, such as KV and D1: members of `env` whose data is kept by objects of a class of this package, and which
// code uses through a client.
//
// A symbol marks them, because bindings are bundled separately from the host.

import type { DurableObjectNamespace } from './object.ts';
import type { EntryHandle } from './service.ts';

/** The key of the function by which a host reads the parts of a binding. */
export const BINDING: unique symbol = Symbol.for('ctx-storage.binding') as never;

export interface BindingParts {
  /** The name of the class, which is hosted once for all bindings of the same kind. */
  readonly className: string;
  readonly class: new (ctx: never, env: never) => object;
  /** The entry point that gets events of the objects. If it does not exist, the host does not start. */
  readonly entry?: { readonly service?: string; readonly entrypoint?: string };
  /** Makes the member of `env`, which calls the objects. Absent if `env` gets no member. */
  client?(objects: DurableObjectNamespace): object;
  /** Makes the only member of the `env` that the class's own objects get. */
  inside?(objects: DurableObjectNamespace, entry: EntryHandle | undefined): object;
  /** Runs after the host has started. If it rejects, the start fails. */
  start?(objects: DurableObjectNamespace): Promise<unknown>;
}

export interface EnvBinding {
  /** Returns the parts of the binding with this name. @throws CLASS_INVALID */
  readonly [BINDING]: (name: string) => BindingParts;
}

/** Returns the parts of a binding; undefined for any other value. @throws CLASS_INVALID */
export function bindingParts(value: unknown, name: string): BindingParts | undefined {
  return typeof value === 'object' && value !== null && BINDING in value
    ? (value as EnvBinding)[BINDING](name)
    : undefined;
}
