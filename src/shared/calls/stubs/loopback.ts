// Makes the members of `ctx.exports` that are classes of the worker. Called with `{ props }`, each returns a class for a
// facet. The export of a class with objects of its own is also their namespace.
//
// Invariant: these exports cannot be stored or sent.

import { checkArgumentCount, convertOptions } from '../../contract/arguments.ts';
import { storageError } from '../../contract/errors.ts';
import { refuseToClone } from '../../values/object-kind.ts';
import type { Payload } from '../../wire/address.ts';
import { setFixed } from './known-stubs.ts';
import { DurableObjectNamespace, type NamespaceOptions } from './namespace.ts';

/** The class and props of a facet. */
export interface FacetClass {
  readonly className: string;
  /** The serialized `ctx.props` of the facet; null if none were given. */
  readonly props: Payload | null;
}

/** Serializes the props of a facet or an entry point. @throws DataCloneError */
export type WriteProps = (props: object) => Payload;

const classes = new WeakMap<object, FacetClass>();

/** Returns the class and props that a facet of this value has; undefined if the value is not a class for facets. */
export function facetClassOf(value: unknown): FacetClass | undefined {
  const isObject = typeof value === 'object' && value !== null;
  return isObject || typeof value === 'function' ? classes.get(value) : undefined;
}

/** A class for facets, with props. */
class DurableObjectClass {
  get [Symbol.toStringTag](): string {
    return 'DurableObjectClass';
  }
}

/** The export of a class without objects of its own. */
class LoopbackDurableObjectClass {
  get [Symbol.toStringTag](): string {
    return 'LoopbackDurableObjectClass';
  }
}

class LoopbackDurableObjectNamespace extends DurableObjectNamespace {
  override get [Symbol.toStringTag](): string {
    return 'LoopbackDurableObjectNamespace';
  }
}

refuseToClone(DurableObjectClass, LoopbackDurableObjectClass, LoopbackDurableObjectNamespace);

/** Makes the export of a class with objects of its own. */
export function loopbackNamespace(options: NamespaceOptions, write: WriteProps): object {
  const { prototype } = LoopbackDurableObjectNamespace;
  const shell = callable(options.className, write, prototype, 'LoopbackDurableObjectNamespace');
  return new LoopbackDurableObjectNamespace(options, shell);
}

/** Makes the export of a class without objects of its own. */
export function loopbackClass(className: string, write: WriteProps): object {
  const { prototype } = LoopbackDurableObjectClass;
  return callable(className, write, prototype, 'LoopbackDurableObjectClass');
}

function callable(className: string, write: WriteProps, prototype: object, kind: string): object {
  const call = withProps(className, write, prototype, (props) =>
    register(new DurableObjectClass(), { className, props }, 'DurableObjectClass'),
  );
  return register(call, { className, props: null }, kind);
}

/** Makes an export that can be called with `{ props }`. */
export function withProps(
  name: string,
  write: WriteProps,
  prototype: object,
  make: (props: Payload | null) => object,
): object {
  // This is not an arrow function, because programs may call it with `new`.
  function call(...parameters: [options?: unknown]): object {
    checkArgumentCount(`exports.${name}`, parameters.length, 1);
    const { props } = convertOptions(`exports.${name}`, parameters[0]);
    return make(props === undefined ? null : write(checkedProps(name, props)));
  }
  // In workerd, an export has no `name` and `length`.
  for (const name of ['name', 'length']) Reflect.deleteProperty(call, name);
  return Object.setPrototypeOf(call, prototype);
}

function register(value: object, facetClass: FacetClass, kind: string): object {
  classes.set(value, facetClass);
  return unsendable(value, kind, 'Name the class instead: every object has the same exports.');
}

/** Marks a value that cannot be stored or sent. `way` advises what to do instead. */
export function unsendable(value: object, kind: string, way: string): object {
  setFixed(
    value,
    `Could not serialize object of type "${kind}". This type does not support serialization. ${way}`,
  );
  return value;
}

function checkedProps(name: string, props: unknown): object {
  if (typeof props === 'object' && props !== null) return props;
  throw storageError(
    'INVALID_ARGUMENT',
    `exports.${name}: props must be an object, not ${props === null ? 'null' : typeof props}.`,
  );
}
