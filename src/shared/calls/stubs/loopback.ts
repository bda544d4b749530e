// The classes of the worker in `ctx.exports`. Called with `{ props }`, each gives a class for a facet; one
// whose objects have ids of their own is their namespace, too.
//
// Invariant: all of them belong to the code that read them, and none can be stored or sent.

import { checkArgumentCount, convertOptions } from '../../contract/arguments.ts';
import { storageError } from '../../contract/errors.ts';
import { refuseToClone } from '../../values/object-kind.ts';
import type { Payload } from '../../wire/protocol.ts';
import { setFixed } from './known-stubs.ts';
import { DurableObjectNamespace, type NamespaceOptions } from './namespace.ts';

/** The class and props of a facet. */
export interface FacetClass {
  readonly className: string;
  /** `ctx.props` of the facet; null: none were given. */
  readonly props: Payload | null;
}

/** Writes props for a facet. @throws DataCloneError */
export type WriteProps = (props: object) => Payload;

const classes = new WeakMap<object, FacetClass>();

/** The class and props for a facet of this class; undefined if the value is not a class for facets. */
export function facetClassOf(value: unknown): FacetClass | undefined {
  const isObject = typeof value === 'object' && value !== null;
  return isObject || typeof value === 'function' ? classes.get(value) : undefined;
}

/** A class with its props. */
class DurableObjectClass {
  get [Symbol.toStringTag](): string {
    return 'DurableObjectClass';
  }
}

/** A class without objects of its own. */
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

/** `ctx.exports` of a class with objects of its own. */
export function loopbackNamespace(options: NamespaceOptions, write: WriteProps): object {
  const { prototype } = LoopbackDurableObjectNamespace;
  const shell = callable(options.className, write, prototype, 'LoopbackDurableObjectNamespace');
  return new LoopbackDurableObjectNamespace(options, shell);
}

/** `ctx.exports` of any other class. */
export function loopbackClass(className: string, write: WriteProps): object {
  const { prototype } = LoopbackDurableObjectClass;
  return callable(className, write, prototype, 'LoopbackDurableObjectClass');
}

function callable(className: string, write: WriteProps, prototype: object, kind: string): object {
  // Not an arrow: programs may call it with `new`.
  function call(...parameters: [options?: unknown]): object {
    checkArgumentCount(`exports.${className}`, parameters.length, 1);
    const { props } = convertOptions(`exports.${className}`, parameters[0]);
    const written = props === undefined ? null : write(checkedProps(className, props));
    return register(new DurableObjectClass(), { className, props: written }, 'DurableObjectClass');
  }
  // It has no members of a function, as on workerd.
  for (const name of ['name', 'length']) Reflect.deleteProperty(call, name);
  Object.setPrototypeOf(call, prototype);
  return register(call, { className, props: null }, kind);
}

function register(value: object, facetClass: FacetClass, kind: string): object {
  classes.set(value, facetClass);
  setFixed(
    value,
    `Could not serialize object of type "${kind}". This type does not support serialization. ` +
      'Name the class instead: every object has the same exports.',
  );
  return value;
}

function checkedProps(className: string, props: unknown): object {
  if (typeof props === 'object' && props !== null) return props;
  throw storageError(
    'INVALID_ARGUMENT',
    `exports.${className}: props must be an object, not ${props === null ? 'null' : typeof props}.`,
  );
}
