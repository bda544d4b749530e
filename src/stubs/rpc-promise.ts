// What stands for a value of the other side before it is here: the member a stub shows for a name,
// and the promise a call gives. Both can be awaited, and both have members in turn, so that
// `stub.room('a').topic()` needs one await.
//
// Keeps true: the same paths lead somewhere as in workerd. Those are members of stubs, and own
// properties of functions and plain objects; no index, nothing of arrays, texts and other values.
//
// Does not know how a call travels.

import { storageError } from '../contract/errors.ts';
import { addMember, addressOf } from './known-stubs.ts';

/** Symbol.dispose, under the name that compilers agree on where the engine lacks it. */
export const DISPOSE: symbol = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/** How a value of the other side is reached. */
export interface Path {
  get(): Promise<unknown>;
  call(parameters: unknown[]): Promise<unknown>;
}

/** Names that programs ask any object for, to learn what it is. */
const LOCAL_NAMES: ReadonlySet<string> = new Set([
  ...Object.getOwnPropertyNames(Object.prototype),
  'then',
  'toJSON',
]);

/** True for a name that can stand for a member of the other side. */
export function isRemote(name: string | symbol): name is string {
  return typeof name === 'string' && !LOCAL_NAMES.has(name) && !/^\d+$/.test(name);
}

/** A method to call, which awaited gives the property instead. */
export function remoteMember(path: Path): object {
  const member = new Proxy(() => {}, {
    apply: (_target, _this, parameters) => rpcPromise(path.call(parameters)),
    get: (target, name) => promiseMember(path.get, name) ?? memberOf(target, path.get, name),
  });
  addMember(member);
  return member;
}

/**
 * The promise of a call. It is one to everybody who asks what it is, and so cannot be called itself:
 * a function that a call gives is awaited first.
 */
export function rpcPromise(value: Promise<unknown>): object {
  const get = () => value;
  const dispose = () => {
    value.then(disposeOf, () => {}); // the caller is told by the promise
  };
  return new Proxy(value, {
    get(target, name) {
      if (name === DISPOSE) return dispose;
      return promiseMember(get, name) ?? memberOf(target, get, name);
    },
  });
}

function promiseMember(get: Path['get'], name: string | symbol): unknown {
  if (name !== 'then' && name !== 'catch' && name !== 'finally') return undefined;
  return (...handlers: never[]) => {
    const promise = get();
    return Reflect.apply(promise[name], promise, handlers);
  };
}

function memberOf(target: object, get: Path['get'], name: string | symbol): unknown {
  if (!isRemote(name)) return Reflect.get(target, name);
  return remoteMember({
    get: async () => step(await get(), name),
    call: async (parameters) => {
      const owner = await get();
      const method = step(owner, name);
      if (typeof method !== 'function') throw missing(name);
      return Reflect.apply(method, owner, parameters);
    },
  });
}

/** The member of a value that has arrived. */
function step(value: unknown, name: string): unknown {
  if (isStub(value) || (isPlain(value) && Object.hasOwn(value, name))) {
    return Reflect.get(value, name);
  }
  throw missing(name);
}

function isStub(value: unknown): value is object {
  return typeof value === 'function' || (isObject(value) && addressOf(value) !== undefined);
}

function isPlain(value: unknown): value is object {
  return isObject(value) && Object.getPrototypeOf(value) === Object.prototype;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

export function disposeOf(value: unknown): void {
  if (isObject(value) || typeof value === 'function') Reflect.get(value, DISPOSE)?.call(value);
}

function missing(name: string): Error {
  return storageError(
    'UNKNOWN_METHOD',
    `The result has no member ${name} to be used before it arrives: only stubs, functions and ` +
      'plain objects have some. Await the call and look at it.',
  );
}
