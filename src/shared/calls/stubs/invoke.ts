// Calls and reads members for the other side, with workerd's rules about which members it may reach: methods and getters
// of the class of an object or RpcTarget and of its base classes, and own properties of functions and plain objects. A
// path of names leads from one member to the next, so that members of a value that cannot be sent can be reached.
//
// Own properties of objects and targets are private (`ctx`, `env`, fields). Only the runtime calls handlers. Members that
// every object or function inherits are members of the stub itself.

import { storageError } from '../../contract/errors.ts';
import { RpcTarget } from '../../contract/rpc-target.ts';
import { addressOf, isMember, isRpcStub } from './known-stubs.ts';

/** The names that lead from a stub to a member. An empty path means the function itself. */
export type Path = readonly string[];

/** The most arguments that every engine can pass to a function. */
const PARAMETERS_MAX = 65_535;

/** The methods that only the runtime may call. workerd, too, refuses these names on a stub. */
const HANDLERS: ReadonlySet<string> = new Set([
  'alarm',
  'connect',
  'dup',
  'fetch',
  'webSocketClose',
  'webSocketError',
  'webSocketMessage',
]);

/** Checks the arguments that arrived with a call. @throws INVALID_ARGUMENT */
export function parametersIn(value: unknown): unknown[] {
  if (Array.isArray(value) && value.length <= PARAMETERS_MAX) return value;
  throw storageError(
    'INVALID_ARGUMENT',
    `The arguments of a call are an array of at most ${PARAMETERS_MAX} elements.`,
  );
}

/** Calls a method of an object. @throws UNKNOWN_METHOD, and the method's error */
export function callEntry(object: object, path: Path, parameters: readonly unknown[]): unknown {
  refuseHandlers(object, path);
  return call(walk(object, path, readClassMember), path, parameters);
}

/** Reads a getter of an object, or a method, which stays bound to it. @throws UNKNOWN_METHOD */
export function readEntry(object: object, path: Path): unknown {
  refuseHandlers(object, path);
  return read(walk(object, path, readClassMember));
}

/** Calls a member of a value that was passed by reference. @throws UNKNOWN_METHOD, and the member's error */
export function callMember(value: unknown, path: Path, parameters: readonly unknown[]): unknown {
  return call(walk(value, path, readValueMember), path, parameters);
}

/** Reads a member of a value that was passed by reference. A method stays bound to its owner. @throws UNKNOWN_METHOD */
export function readMember(value: unknown, path: Path): unknown {
  return read(walk(value, path, readValueMember));
}

interface Found {
  readonly owner: unknown;
  readonly value: unknown;
}

function walk<T>(root: T, path: Path, enter: (root: T, name: string) => unknown): Found {
  const [first, ...rest] = path;
  // As in workerd, `this` of a called function is the function.
  if (first === undefined) return { owner: root, value: root };
  let found: Found = { owner: root, value: enter(root, first) };
  let last = first;
  for (const name of rest) {
    found = { owner: found.value, value: readValueMember(found.value, name, last) };
    last = name;
  }
  return found;
}

function call({ owner, value }: Found, path: Path, parameters: readonly unknown[]): unknown {
  if (typeof value === 'function') return Reflect.apply(value, owner, parameters);
  const name = path.at(-1);
  const member = name === undefined || !isObject(owner) ? 'It' : `${classOf(owner)}.${name}`;
  throw storageError(
    'UNKNOWN_METHOD',
    `"${path.join('.') || '(this)'}" is not a function. ${member} is ${kindOf(value)}.`,
  );
}

function read({ owner, value }: Found): unknown {
  if (typeof value !== 'function' || isRpcStub(value) || isMember(value)) return value;
  return new Proxy(value, {
    apply: (method, _this, parameters) => Reflect.apply(method, owner, parameters),
  });
}

function refuseHandlers(object: object, path: Path): void {
  const handler = path.find((name) => HANDLERS.has(name));
  if (handler === undefined) return;
  throw storageError(
    'UNKNOWN_METHOD',
    `'${handler}' is a reserved method and cannot be called over RPC. ` +
      `Only the runtime calls ${classOf(object)}.${handler}.`,
  );
}

/** Reads the member `name` of a value. Errors call the value `valueName`. */
function readValueMember(value: unknown, name: string, valueName = name): unknown {
  if (isObject(value)) {
    if (isStub(value) || hasOwnMembers(value)) return readOwnMember(value, name);
    if (value instanceof RpcTarget) return readClassMember(value, name);
  }
  throw unknownMethodError(
    valueName,
    `It is ${kindOf(value)}, whose member ${name} cannot be reached: only stubs, functions and plain ` +
      'objects have members for callers. Await it, and read the member of the copy.',
  );
}

/** Reads a member of a stub, function or plain object. */
function readOwnMember(owner: object, name: string): unknown {
  if (isStub(owner)) {
    const member: unknown = Reflect.get(owner, name);
    if (isObject(member) && isMember(member)) return member;
  } else if (Object.hasOwn(owner, name)) {
    return Reflect.get(owner, name);
  }
  throw unknownMethodError(name, `It is not a member of ${kindOf(owner)} that callers can reach.`);
}

function readClassMember(owner: object, name: string): unknown {
  const member = `${classOf(owner)}.${name}`;
  if (Object.hasOwn(owner, name)) {
    throw unknownMethodError(
      name,
      `${member} is a property of the instance; only methods and getters of its class are public.`,
    );
  }
  let link: object | null = name === 'constructor' ? null : Object.getPrototypeOf(owner);
  for (; link !== null && link !== Object.prototype; link = Object.getPrototypeOf(link)) {
    const found = Object.getOwnPropertyDescriptor(link, name);
    if (found !== undefined && !isSetterOnly(found)) return Reflect.get(owner, name);
  }
  throw unknownMethodError(
    name,
    `${member} does not exist: the class has no method or getter of this name.`,
  );
}

function isSetterOnly({ get, set }: PropertyDescriptor): boolean {
  return set !== undefined && get === undefined;
}

function isStub(value: object): boolean {
  return isRpcStub(value) || isMember(value) || addressOf(value) !== undefined;
}

function hasOwnMembers(value: object): boolean {
  return typeof value === 'function' || Object.getPrototypeOf(value) === Object.prototype;
}

function isObject(value: unknown): value is object {
  return typeof value === 'function' || (typeof value === 'object' && value !== null);
}

/** Makes an error whose message begins as in workerd, because programs match it. */
function unknownMethodError(name: string, fact: string): Error {
  const words = `The RPC receiver does not implement the method "${name}".`;
  return storageError('UNKNOWN_METHOD', `${words} ${fact}`);
}

function kindOf(value: unknown): string {
  if (!isObject(value)) return value === null ? 'null' : `of type ${typeof value}`;
  if (typeof value === 'function') return 'a function';
  return isStub(value) ? 'a stub' : `an instance of ${classOf(value)}`;
}

function classOf(value: object): string {
  return value.constructor?.name ?? 'Object';
}
