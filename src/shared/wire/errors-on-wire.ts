// Converts errors to plain data and back; the error of a connection that ended.
//
// An error keeps its class (if it is one of the language), name, message, stack, `code`,
// `retryable`, `durableObjectReset`, cause, the errors it aggregates, and own properties that can
// be cloned. As on workerd, cause, name and hidden properties arrive enumerable. comlink would keep only name, message
// and stack.

import { storageError } from '../contract/errors.ts';
import { ENGINE_PROPERTIES } from '../values/error-codec.ts';
import { structuredCopy } from '../values/value.ts';

/** A thrown value as plain data. */
export interface WireError {
  /** The thrown value, if it is not an Error and can be cloned. */
  readonly thrown?: unknown;
  /** True for a DOMException. Its legacy number follows from its name. */
  readonly isDomException?: true;
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly properties: Readonly<Record<string, string | number | boolean>>;
  /** The own properties besides those in the other fields. */
  readonly own?: Readonly<Record<string, unknown>>;
  readonly cause?: WireError;
  /** The errors of an AggregateError. */
  readonly errors?: readonly WireError[];
}

/** The result of an operation, or the error that it threw. */
export type Outcome<T = unknown> = { readonly ok: T } | { readonly error: WireError };

// The properties by which callers decide how to handle an error. Enumerable ones are also in `own`, so that they stay
// enumerable.
const PROPERTIES = ['code', 'retryable', 'durableObjectReset', 'remote', 'overloaded'] as const;
const CAUSE_DEPTH_MAX = 8;

/** The own properties that `own` leaves out: other fields transfer them, or they belong to the engine. */
const TRANSFERRED_SEPARATELY: ReadonlySet<string> = new Set([
  ...PROPERTIES,
  ...ENGINE_PROPERTIES,
  'cause',
  'errors',
  '__proto__',
]);

const CLASSES: Readonly<Record<string, new (message: string) => Error>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

/** Converts any thrown value to plain data. Never throws. */
export function toWire(thrown: unknown, depth = 0): WireError {
  try {
    return inWords(thrown, depth);
  } catch {
    // A getter or `toString` of the thrown value has thrown.
    return { name: 'Error', message: 'A value was thrown that cannot be read.', properties: {} };
  }
}

/** Converts plain data back to the value to throw. Never throws: data that cannot be read becomes an INTERNAL error. */
export function fromWire(wire: WireError): unknown {
  try {
    return fromWords(wire);
  } catch (cause) {
    return storageError('INTERNAL', 'An error was received that cannot be read.', { cause });
  }
}

function fromWords(wire: WireError): unknown {
  if ('thrown' in wire) return wire.thrown;
  const error = construct(wire);
  if (wire.stack !== undefined) define(error, 'stack', wire.stack);
  const { own = {} } = wire;
  for (const [name, value] of Object.entries(wire.properties)) {
    define(error, name, value, Object.hasOwn(own, name));
  }
  for (const [name, value] of Object.entries(own)) {
    // toWire leaves out the names that are transferred separately. One of them is `__proto__`, which would change the prototype.
    if (!TRANSFERRED_SEPARATELY.has(name)) Reflect.set(error, name, value);
  }
  if (wire.cause !== undefined) define(error, 'cause', fromWords(wire.cause), true);
  if (wire.errors !== undefined) define(error, 'errors', wire.errors.map(fromWords), true);
  return error;
}

function inWords(thrown: unknown, depth: number): WireError {
  if (!(thrown instanceof Error || thrown instanceof DOMException)) {
    return notAnError(thrown);
  }
  const isDomException = thrown instanceof DOMException;
  const properties: Record<string, string | number | boolean> = {};
  for (const name of PROPERTIES) {
    // Members of the error's class are not transferred, as in workerd.
    if (!Object.hasOwn(thrown, name)) continue;
    const value = Reflect.get(thrown, name) as unknown;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      properties[name] = value;
    }
  }
  const own = ownProperties(thrown);
  return {
    name: String(thrown.name),
    message: String(thrown.message),
    properties,
    ...(own !== undefined && { own }),
    ...(isDomException && { isDomException }),
    ...(typeof thrown.stack === 'string' && { stack: thrown.stack }),
    ...(thrown.cause !== undefined &&
      depth < CAUSE_DEPTH_MAX && { cause: toWire(thrown.cause, depth + 1) }),
    ...(thrown instanceof AggregateError &&
      Array.isArray(thrown.errors) &&
      depth < CAUSE_DEPTH_MAX && {
        errors: thrown.errors.map((error: unknown) => toWire(error, depth + 1)),
      }),
  };
}

function ownProperties(error: object): Record<string, unknown> | undefined {
  let own: Record<string, unknown> | undefined;
  for (const name of Object.getOwnPropertyNames(error)) {
    // A property of PROPERTIES that is enumerable stays enumerable.
    const isKnown = PROPERTIES.some((known) => known === name);
    if (
      isKnown
        ? !Object.prototype.propertyIsEnumerable.call(error, name)
        : TRANSFERRED_SEPARATELY.has(name)
    ) {
      continue;
    }
    try {
      const value = structuredCopy(Reflect.get(error, name));
      own ??= {};
      own[name] = value;
    } catch {
      // A property that cannot be cloned is dropped, because the error itself matters more.
    }
  }
  return own;
}

function construct({ name, message, isDomException, errors }: WireError): Error {
  if (isDomException) return new DOMException(message, name);
  if (errors !== undefined && name === 'AggregateError') return new AggregateError([], message);
  const Class = Object.hasOwn(CLASSES, name) ? CLASSES[name] : undefined;
  if (Class) return new Class(message);
  const error = new Error(message);
  define(error, 'name', name, true);
  return error;
}

function notAnError(thrown: unknown): WireError {
  const error = { name: 'Error', properties: {} };
  try {
    // `String()` would throw for an object without a prototype.
    return { ...error, thrown: structuredCopy(thrown), message: describe(thrown) };
  } catch {
    return { ...error, message: describe(thrown) };
  }
}

/** Describes a value as V8 does, without running code of the program. workerd uses this text as the message. */
function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value)) return '[object Array]';
  if (Reflect.get(value, 'toString') !== Object.prototype.toString) return '[object Object]';
  return `#<${value.constructor.name}>`;
}

function define(error: Error, name: string, value: unknown, enumerable = false): void {
  Object.defineProperty(error, name, { value, enumerable, writable: true, configurable: true });
}

/** Makes the error of calls on a connection that ended. `fact` says why it ended. */
export function connectionClosed(fact: string): Error {
  return storageError(
    'CONNECTION_CLOSED',
    `The connection to the worker ended: ${fact}. A write under way may or may not have taken ` +
      'effect; read before making it again.',
  );
}
