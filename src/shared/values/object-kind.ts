// Determines the kind of an object: a plain object, a built-in with internal slots, or an object that cannot be stored.
// This runs no code of the program, except traps of a proxy.
//
// The prototype chain names a candidate, and an accessor of the engine confirms it (slots.ts). If the chain contains a
// native constructor that this file does not know, the object belongs to the platform (Event, Promise,
// Intl.NumberFormat, …) and is refused. Node implements many platform classes in JavaScript; they are found among its
// globals. A candidate that the accessor does not confirm only inherits from a built-in, and is a plain object, as in V8.
//
// JavaScript cannot recognize a proxy, or a built-in whose prototype was replaced. Such an object usually
// looks empty, and storing `{}` for it would lose data silently, so the engine's own structured clone
// decides (`assertPlain`). A proxy that shows properties is stored with these properties.

import { DurableObjectId } from '../contract/object-id.ts';
import { RpcTarget } from '../contract/rpc-target.ts';
import { isNode } from './node-buffer.ts';
import * as slots from './slots.ts';

export type ObjectKind =
  | 'plain'
  | 'refused'
  | 'map'
  | 'set'
  | 'date'
  | 'regExp'
  | 'number'
  | 'string'
  | 'boolean'
  | 'bigint'
  | 'buffer'
  | 'sharedBuffer'
  | 'view'
  | 'error'
  | 'domException'
  | 'headers'
  | 'request'
  | 'response'
  | 'blob';

/** The kinds of built-in classes, by their global names. Native classes that are not listed are refused. */
const KIND_BY_NAME: ReadonlyMap<string, ObjectKind> = new Map<string, ObjectKind>([
  // Genuine instances of these classes are recognized before their prototype is examined. Other objects with these
  // prototypes only inherit from the classes.
  ...(['Object', 'Array', 'Function', 'Iterator', 'DataView'] as const).map(
    (name) => [name, 'plain'] as const,
  ),
  ['Map', 'map'],
  ['Set', 'set'],
  ['Date', 'date'],
  ['RegExp', 'regExp'],
  ['Number', 'number'],
  ['String', 'string'],
  ['Boolean', 'boolean'],
  ['BigInt', 'bigint'],
  ['ArrayBuffer', 'buffer'],
  ['SharedArrayBuffer', 'sharedBuffer'],
  ['Error', 'error'],
  ['DOMException', 'domException'],
  ['Headers', 'headers'],
  ['Request', 'request'],
  ['Response', 'response'],
  ['Blob', 'blob'],
  ['File', 'refused'],
]);

/** The kinds of prototypes: those of this realm's built-ins, and a cache of all prototypes seen since. */
const kinds = new WeakMap<object, ObjectKind>();

for (const [name, kind] of KIND_BY_NAME) {
  const builtIn = (globalThis as Record<string, unknown>)[name];
  if (typeof builtIn === 'function') kinds.set(builtIn.prototype, kind);
}

if (isNode) refuseScriptedGlobals();
// Instances of these classes are refused, because storing one would keep its fields and lose its class.
refuseToClone(DurableObjectId, RpcTarget);

/** Makes instances of these classes impossible to store, like platform objects. */
export function refuseToClone(...classes: readonly { readonly prototype: object }[]): void {
  for (const { prototype } of classes) kinds.set(prototype, 'refused');
}

/**
 * Refuses the platform's classes that are written in JavaScript. As Web IDL says, the global object lists no class of
 * the platform when its properties are enumerated, while an app's global is listed.
 */
function refuseScriptedGlobals(): void {
  for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    // Other names are not read, because reading may have effects: `localStorage` is a getter that may throw.
    if (property.enumerable || !/^[A-Z]/.test(name)) continue;
    const { prototype } = (Reflect.get(globalThis, name) ?? {}) as { prototype?: unknown };
    if (typeof prototype !== 'object' || prototype === null || kinds.has(prototype)) continue;
    if (nativeConstructorName(prototype) === undefined) kinds.set(prototype, 'refused');
  }
  for (const list of [new URLSearchParams(), new FormData(), new Headers()]) {
    kinds.set(Object.getPrototypeOf(list.entries()), 'refused');
  }
}

/** Returns the kind of an object that is not an array. */
export function kindOf(value: object, prototype: object | null): ObjectKind {
  if (ArrayBuffer.isView(value)) return 'view';
  const candidate = prototype === null ? 'plain' : candidateOf(prototype);
  return isGenuine(value, candidate) ? candidate : 'plain';
}

/**
 * Returns the kind of an object that has a common prototype and looks empty or like a list. It may be a built-in whose
 * prototype was replaced, or `arguments`.
 */
export function kindInDisguise(value: object): ObjectKind {
  if (ArrayBuffer.isView(value)) return 'view';
  switch (slots.builtinTag(value)) {
    case 'Arguments':
      return 'refused';
    case 'Error':
      return 'error';
    case 'Date':
      return 'date';
    case 'RegExp':
      return 'regExp';
    case 'Number':
      return 'number';
    case 'String':
      return 'string';
    case 'Boolean':
      return 'boolean';
    default:
      return 'plain';
  }
}

/**
 * Checks that objects without properties are really plain objects or arrays. They are checked together, because each
 * structured clone takes half a microsecond.
 *
 * @throws DataCloneError of the engine
 */
export function assertPlain(empty: readonly object[]): void {
  for (const clone of structuredClone(empty)) {
    if (Object.getPrototypeOf(clone) === Object.prototype || Array.isArray(clone)) continue;
    throw dataCloneError(clone);
  }
}

/** Makes the error for a value that cannot be stored. `reason` completes the sentence and tells what to do. */
export function dataCloneError(value: unknown, reason = 'could not be cloned.'): DOMException {
  return new DOMException(`${describeValue(value)} ${reason}`, 'DataCloneError');
}

/** Makes the error for an object of the platform, whose class may have no name. */
export function platformObjectError(value: object): DOMException {
  const prototype: object | null = Object.getPrototypeOf(value);
  const isNameless = prototype !== null && nativeConstructorName(prototype) === '';
  if (!isNameless) return dataCloneError(value);
  return dataCloneError(
    value,
    'could not be cloned: it belongs to the platform, as process.env does. Store a copy of its properties: ' +
      '{ ...object }.',
  );
}

/** Makes the error for a value that can be stored but not sent. Its message begins as in workerd. */
export function notSerializable(className: string, wayOut: string): DOMException {
  const words = `Could not serialize object of type "${className}". This type does not support serialization.`;
  return new DOMException(`${words} ${wayOut}`, 'DataCloneError');
}

function candidateOf(prototype: object): ObjectKind {
  const known = kinds.get(prototype);
  if (known !== undefined) return known;
  const kind = inheritedKind(prototype);
  kinds.set(prototype, kind);
  return kind;
}

function inheritedKind(prototype: object): ObjectKind {
  let passedNative = false;
  for (let link: object | null = prototype; link !== null; link = Object.getPrototypeOf(link)) {
    const native = nativeConstructorName(link);
    const kind = kinds.get(link) ?? (native === undefined ? undefined : KIND_BY_NAME.get(native));
    if (kind !== undefined) {
      // TypeError and QuotaExceededError are native classes without an entry in the table, but they are errors.
      const isError = kind === 'error' || kind === 'domException';
      return passedNative && !isError ? 'refused' : kind;
    }
    passedNative ||= native !== undefined;
  }
  return passedNative ? 'refused' : 'plain';
}

/** Returns the name of the native function that has this object as its `prototype`; undefined if there is none. */
function nativeConstructorName(prototype: object): string | undefined {
  const owner = ownValue(prototype, 'constructor');
  if (typeof owner !== 'function') return undefined;
  const source = Function.prototype.toString.call(owner);
  if (!/\{\s*\[native code\]\s*\}\s*$/.test(source)) return undefined;
  return String(ownValue(owner, 'name'));
}

function isGenuine(value: object, kind: ObjectKind): boolean {
  if (kind === 'plain' || kind === 'refused') return true;
  try {
    return TESTS[kind](value);
  } catch {
    return false;
  }
}

const TESTS: Readonly<
  Record<Exclude<ObjectKind, 'plain' | 'refused'>, (value: object) => boolean>
> = {
  map: (value) => slots.mapSize(value) >= 0,
  set: (value) => slots.setSize(value) >= 0,
  date: (value) => typeof slots.dateTime(value) === 'number',
  regExp: (value) => slots.regExpFlagsOf(value) !== undefined,
  number: (value) => typeof slots.numberValue(value) === 'number',
  string: (value) => typeof slots.stringValue(value) === 'string',
  boolean: (value) => typeof slots.booleanValue(value) === 'boolean',
  bigint: (value) => typeof slots.bigintValue(value) === 'bigint',
  buffer: (value) => slots.bufferByteLength(value) >= 0,
  sharedBuffer: (value) => slots.sharedBufferByteLength!(value) >= 0,
  view: (value) => ArrayBuffer.isView(value),
  error: slots.isGenuineError,
  domException: (value) => typeof slots.domExceptionName(value) === 'string',
  headers: (value) => !slots.headersHas(value, 'x') || true,
  request: (value) => typeof slots.requestUrl(value) === 'string',
  response: (value) => typeof slots.responseStatus(value) === 'number',
  blob: (value) => slots.blobSize(value) >= 0,
};

/** Returns the name of a value for messages, without running code of the program. */
function describeValue(value: unknown): string {
  if (typeof value === 'symbol') return String(value);
  try {
    if (typeof value === 'function') return `function ${String(ownValue(value, 'name'))}`;
    return `#<${typeof value === 'object' && value !== null ? classNameOf(value) : 'Object'}>`;
  } catch {
    return 'A revoked proxy';
  }
}

/** Returns the name of the object's class, without running code of the program. */
export function classNameOf(value: object): string {
  const prototype = Object.getPrototypeOf(value);
  const owner = prototype && ownValue(prototype, 'constructor');
  return (typeof owner === 'function' && String(ownValue(owner, 'name'))) || 'Object';
}

function ownValue(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}
