// Errors as plain data, and back.
//
// A thrown error keeps its class (when the language has it), name, message, stack, `code`,
// `retryable`, `durableObjectReset` and cause. comlink would keep only name, message and stack.

/** An error that crosses the thread as an outcome. */
export interface WireError {
  /** Not an Error: the thrown value itself, when structured clone takes it. */
  readonly thrown?: unknown;
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly properties: Readonly<Record<string, string | number | boolean>>;
  readonly cause?: WireError;
}

// The properties callers decide by. Others stay behind: they may hold anything.
const PROPERTIES = ['code', 'retryable', 'durableObjectReset', 'remote', 'overloaded'] as const;
const CAUSE_DEPTH_MAX = 8;

const CLASSES: Readonly<Record<string, new (message: string) => Error>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError,
};

/** The wire form of anything thrown. Never throws. */
export function toWire(thrown: unknown, depth = 0): WireError {
  if (!isErrorLike(thrown)) {
    return { thrown: cloneable(thrown), name: 'Error', message: String(thrown), properties: {} };
  }
  const properties: Record<string, string | number | boolean> = {};
  for (const name of PROPERTIES) {
    const value = (thrown as unknown as Record<string, unknown>)[name];
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      properties[name] = value;
    }
  }
  const wire: WireError = {
    name: String(thrown.name),
    message: String(thrown.message),
    properties,
    ...(typeof thrown.stack === 'string' && { stack: thrown.stack }),
  };
  if (thrown.cause === undefined || depth === CAUSE_DEPTH_MAX) return wire;
  return { ...wire, cause: toWire(thrown.cause, depth + 1) };
}

/** The value to throw on this side. */
export function fromWire(wire: WireError): unknown {
  if ('thrown' in wire) return wire.thrown;
  const error = construct(wire);
  if (wire.stack !== undefined) define(error, 'stack', wire.stack);
  for (const [name, value] of Object.entries(wire.properties)) {
    // A DOMException has its own numeric code, which its name already brings along.
    if (!(error instanceof DOMException && name === 'code')) define(error, name, value);
  }
  if (wire.cause !== undefined) define(error, 'cause', fromWire(wire.cause));
  return error;
}

function construct(wire: WireError): Error {
  const Class = CLASSES[wire.name];
  if (Class) return new Class(wire.message);
  const isDomName = new DOMException('', wire.name).code !== 0 || DOM_NAMES.has(wire.name);
  if (isDomName) return new DOMException(wire.message, wire.name);
  const error = new Error(wire.message);
  define(error, 'name', wire.name);
  return error;
}

// DOMException names without a legacy code number.
const DOM_NAMES = new Set([
  'NotReadableError',
  'UnknownError',
  'OperationError',
  'NotAllowedError',
]);

function isErrorLike(value: unknown): value is Error {
  return value instanceof Error || value instanceof DOMException;
}

function cloneable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return String(value);
  }
}

function define(error: Error, name: string, value: unknown): void {
  Object.defineProperty(error, name, { value, writable: true, configurable: true });
}
