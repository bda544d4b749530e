// Reads the internal slots of built-in objects through the engine's own accessors.
//
// The accessors are taken once, when the module loads, and called on the value: they see through
// overridden properties and subclasses, work on objects of other realms, and throw on anything that
// is not genuine. None of them runs code of the program.

type Accessor<Value> = (object: object) => Value;

export const mapSize = getter<number>(Map.prototype, 'size');
export const setSize = getter<number>(Set.prototype, 'size');
export const dateTime = method<number>(Date.prototype.getTime);
export const numberValue = method<number>(Number.prototype.valueOf);
export const stringValue = method<string>(String.prototype.valueOf);
export const booleanValue = method<boolean>(Boolean.prototype.valueOf);
export const bigintValue = method<bigint>(BigInt.prototype.valueOf);
export const regExpSource = getter<string>(RegExp.prototype, 'source');
export const bufferByteLength = getter<number>(ArrayBuffer.prototype, 'byteLength');
export const viewClassName = getter<string | undefined>(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
);

/** Tells whether a buffer can be resized. Undefined if the engine has no such buffers. */
export const bufferResizable = optionalGetter<boolean>(ArrayBuffer.prototype, 'resizable');
export const bufferMaxByteLength = optionalGetter<number>(ArrayBuffer.prototype, 'maxByteLength');

export const sharedBufferByteLength =
  typeof SharedArrayBuffer === 'undefined'
    ? undefined
    : getter<number>(SharedArrayBuffer.prototype, 'byteLength');

const regExpFlags: readonly (readonly [flag: string, read: Accessor<boolean | undefined>])[] = [
  ['d', optionalGetter(RegExp.prototype, 'hasIndices')],
  ['g', optionalGetter(RegExp.prototype, 'global')],
  ['i', optionalGetter(RegExp.prototype, 'ignoreCase')],
  ['m', optionalGetter(RegExp.prototype, 'multiline')],
  ['s', optionalGetter(RegExp.prototype, 'dotAll')],
  ['u', optionalGetter(RegExp.prototype, 'unicode')],
  ['v', optionalGetter(RegExp.prototype, 'unicodeSets')],
  ['y', optionalGetter(RegExp.prototype, 'sticky')],
];

/** Returns the flags of a regular expression; undefined for `RegExp.prototype`, which is not a regular expression. */
export function regExpFlagsOf(value: object): string | undefined {
  let flags = '';
  for (const [flag, read] of regExpFlags) {
    const set = read(value);
    if (flag === 'g' && set === undefined) return undefined;
    if (set === true) flags += flag;
  }
  return flags;
}

export const domExceptionName = ofDomException('name');
export const domExceptionMessage = ofDomException('message');
export const blobSize = getter<number>(Blob.prototype, 'size');
export const headersHas = Headers.prototype.has.call.bind(Headers.prototype.has) as (
  headers: object,
  name: string,
) => boolean;
export const requestUrl = getter<string>(Request.prototype, 'url');
export const responseStatus = getter<number>(Response.prototype, 'status');

const forEachOfMap = Map.prototype.forEach;
const forEachOfSet = Set.prototype.forEach;

/** Returns the keys and values of a Map as one list: key, value, key, value. */
export function mapEntries(map: object): unknown[] {
  const entries: unknown[] = [];
  forEachOfMap.call(map as Map<unknown, unknown>, (value, key) => entries.push(key, value));
  return entries;
}

export function setValues(set: object): unknown[] {
  const values: unknown[] = [];
  forEachOfSet.call(set as Set<unknown>, (value) => values.push(value));
  return values;
}

/**
 * Returns the class that the language assigns to an object, without reading its properties: `Error`, `Date`, `RegExp`,
 * `Number`, `String`, `Boolean`, `Arguments`, `Array`, else `Object`.
 *
 * Undefined when the object names itself through `Symbol.toStringTag`: its name proves nothing.
 */
export function builtinTag(value: object): string | undefined {
  if (Symbol.toStringTag in value) return undefined;
  const text = objectToString.call(value);
  return text === PLAIN ? 'Object' : text.slice(8, -1);
}

const objectToString = Object.prototype.toString;
/** The tag that almost all objects have. */
const PLAIN = '[object Object]';

const standardIsError = (Error as { readonly isError?: (value: unknown) => boolean }).isError;

/** Returns true for a genuine error. The object must inherit from `Error.prototype`. */
export function isGenuineError(value: object): boolean {
  if (standardIsError) return standardIsError(value);
  const tag = builtinTag(value);
  return tag === 'Error' || tag === undefined;
}

/** Returns the getter of a prototype's property as a function of the object. */
export function getter<Value>(prototype: object, name: PropertyKey): Accessor<Value> {
  return method(Object.getOwnPropertyDescriptor(prototype, name)!.get!);
}

/** Reads a member of a DOMException. In workerd, it is a plain property of each exception. */
function ofDomException(name: 'name' | 'message'): Accessor<string> {
  const read = Object.getOwnPropertyDescriptor(DOMException.prototype, name)?.get;
  if (read) return method(read);
  return (exception) => String(Object.getOwnPropertyDescriptor(exception, name)!.value);
}

/** Works like `getter`. If the engine lacks the property, returns a function that returns undefined. */
export function optionalGetter<Value>(
  prototype: object | undefined,
  name: PropertyKey,
): Accessor<Value | undefined> {
  const read = prototype && Object.getOwnPropertyDescriptor(prototype, name)?.get;
  return read ? method(read) : () => undefined;
}

/** Returns a prototype's method without parameters as a function of the object. */
export function method<Value>(read: () => unknown): Accessor<Value> {
  return (object) => Reflect.apply(read, object, []) as Value;
}
