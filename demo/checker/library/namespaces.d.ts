// The members of `env` for the classes that a module exports.

import type { DurableObjectNamespace } from '../../../src/shared/contract/object.ts';

/** On instances of `DurableObject`, for types only: other classes have no namespace. */
export declare const IS_OBJECT: unique symbol;

/** A namespace for each class of objects that the module exports, by its name. */
export type Namespaces<Module> = {
  readonly [Name in keyof Module as Module[Name] extends AnyClass
    ? Name
    : never]: Module[Name] extends AnyClass<infer One> ? DurableObjectNamespace<One> : never;
};

type AnyClass<One extends object = object> = abstract new (
  ...given: never
) => One & { readonly [IS_OBJECT]: true };
