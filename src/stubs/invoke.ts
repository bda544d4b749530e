// Which members of an object the other side may reach, as workerd has it: the methods and getters of
// its class and the classes it extends; of a function its own properties.
//
// Own properties of an object are private state (`ctx`, `env`, fields), handlers are the runtime's to
// call, and what every object and function inherits answers on the stub itself.

import { storageError } from '../contract/errors.ts';
import { RpcTarget } from '../contract/rpc-target.ts';
import { isRpcStub } from './known-stubs.ts';

const PARAMETERS_MAX = 65_535;

/** Called by the runtime only; the same names that workerd refuses. */
const HANDLERS: ReadonlySet<string> = new Set([
  'alarm',
  'connect',
  'dup',
  'fetch',
  'webSocketClose',
  'webSocketError',
  'webSocketMessage',
]);

/**
 * The arguments that came for a call. @throws INVALID_ARGUMENT when they are not an array, or one that
 * claims more elements than any engine passes
 */
export function parametersIn(value: unknown): unknown[] {
  if (Array.isArray(value) && value.length <= PARAMETERS_MAX) return value;
  throw storageError(
    'INVALID_ARGUMENT',
    `Arguments of a call are an array of at most ${PARAMETERS_MAX} elements.`,
  );
}

/** Calls the method. @throws UNKNOWN_METHOD, and what it throws */
export function callMember(target: object, name: string, parameters: readonly unknown[]): unknown {
  const method = find(target, name);
  if (typeof method !== 'function') {
    throw unknown(target, name, `it is ${method === null ? 'null' : typeof method}, not a method`);
  }
  return Reflect.apply(method, target, parameters);
}

/** The value of the getter, or the method, which stays bound to its object. @throws UNKNOWN_METHOD */
export function readMember(target: object, name: string): unknown {
  const value = find(target, name);
  if (typeof value !== 'function' || isRpcStub(value)) return value;
  return (...parameters: unknown[]) => Reflect.apply(value, target, parameters);
}

function find(target: object, name: string): unknown {
  // A target has none: what its class calls so is a method as any other.
  if (HANDLERS.has(name) && !(target instanceof RpcTarget)) {
    throw unknown(target, name, 'it is a handler that only the runtime calls');
  }
  if (typeof target === 'function') {
    if (Object.hasOwn(target, name)) return Reflect.get(target, name);
    throw unknown(target, name, 'the function has no such property');
  }
  if (Object.hasOwn(target, name)) {
    throw unknown(target, name, 'it is a property of the instance; only methods are public');
  }
  let link: object | null = Object.getPrototypeOf(target);
  for (; link !== null && link !== Object.prototype; link = Object.getPrototypeOf(link)) {
    const member = name === 'constructor' ? undefined : descriptor(link, name);
    if (member !== undefined && !isSetterOnly(member)) return Reflect.get(target, name);
  }
  throw unknown(target, name, 'the class has no method of this name');
}

const descriptor = Object.getOwnPropertyDescriptor;

function isSetterOnly({ get, set }: PropertyDescriptor): boolean {
  return set !== undefined && get === undefined;
}

function unknown(target: object, name: string, fact: string): Error {
  const { name: className } = target.constructor;
  return storageError('UNKNOWN_METHOD', `${className}.${name} cannot be called: ${fact}.`);
}
