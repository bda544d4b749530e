// A placeholder for a value of the other side that has not arrived yet: the member of a stub, and the
// promise of a call. Both can be awaited, and both have members of their own, so that
// `stub.room('a').topic()` needs one await.
//
// Invariant: the same paths lead somewhere as on workerd: members of stubs, and own properties of functions
// and plain objects; never an index, nor a member of an array, a string or another value.

import { storageError } from '../../contract/errors.ts';
import { currentFrame, reactInFrame } from '../io/async-frame.ts';
import { callMember, type Path, readMember } from './invoke.ts';
import { addMember } from './known-stubs.ts';
import { isIn, isRemote } from './remote-name.ts';
import { RpcPromise, RpcProperty } from './rpc-classes.ts';

/** Symbol.dispose, under the name that compilers use where the engine lacks it. */
export const DISPOSE: symbol = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/** How members of a value of the other side are reached. */
export interface Remote {
  get(path: Path): Promise<unknown>;
  call(path: Path, parameters: unknown[]): Promise<unknown>;
}

/** A member: called, it is a method; awaited, a property. It keeps the `owner`, whose target it would lose. */
export function remoteMember(remote: Remote, path: Path, owner?: object): object {
  const get = () => remote.get(path);
  const member = new Proxy(() => {}, {
    apply: (_target, holder, parameters) =>
      isForJson(path, parameters) ? ownData(holder) : rpcPromise(remote.call(path, parameters)),
    has: (target, name) => name === 'then' || isIn(target, name),
    get(target, name) {
      if (name === Symbol.toStringTag) return 'JsRpcProperty'; // no function to programs that look, as on workerd
      const own = promiseMember(get, name);
      if (own !== undefined) return own;
      return isRemote(name)
        ? remoteMember(remote, [...path, name], owner)
        : Reflect.get(target, name);
    },
    getPrototypeOf: () => RpcProperty.prototype,
  });
  addMember(member, owner);
  return member;
}

/**
 * The promise of a call. It is a promise to every program that checks, so it cannot be called itself: a
 * function that a call returns is awaited first.
 */
export function rpcPromise(value: Promise<unknown>): object {
  let isDisposed = false;
  const use = () => {
    if (isDisposed) throw disposed('promise');
    return value;
  };
  const result: Remote = {
    get: async (path) => readMember(await use(), path),
    call: async (path, parameters) => callMember(await use(), path, parameters),
  };
  const dispose = () => {
    isDisposed = true;
    value.then(disposeOf, () => {}); // the promise reports the error
  };
  return new Proxy(value, {
    has: (target, name) => name === DISPOSE || isIn(target, name),
    get(target, name) {
      if (name === DISPOSE) return dispose;
      const own = promiseMember(() => value, name);
      if (own !== undefined) return own;
      return isRemote(name) ? remoteMember(result, [name]) : Reflect.get(target, name);
    },
    getPrototypeOf: () => RpcPromise.prototype,
  });
}

function promiseMember(get: () => Promise<unknown>, name: string | symbol): unknown {
  if (name !== 'then' && name !== 'catch' && name !== 'finally') return undefined;
  const frame = currentFrame();
  return (...handlers: unknown[]) => {
    const promise = get();
    const reactions = handlers.map((handler) => reactInFrame(frame, handler));
    return Reflect.apply(promise[name], promise, reactions as never);
  };
}

/** JSON.stringify calls `toJSON` with a key. On workerd, it does not reach the other side. */
function isForJson(path: Path, parameters: readonly unknown[]): boolean {
  return path.at(-1) === 'toJSON' && parameters.length === 1 && typeof parameters[0] === 'string';
}

/** A stub of a function has none. */
function ownData(stub: unknown): object | undefined {
  return typeof stub === 'object' ? { ...stub } : undefined;
}

/** Begins with workerd's words. Not retryable: it will never answer. */
export function disposed(what: 'stub' | 'promise'): Error {
  const error = storageError(
    'CONNECTION_CLOSED',
    `RPC ${what} used after being disposed. Take dup() of a stub to keep a handle of your own.`,
  );
  Reflect.deleteProperty(error, 'retryable');
  return error;
}

export function disposeOf(value: unknown): void {
  const isObject = typeof value === 'object' && value !== null;
  if (isObject || typeof value === 'function') Reflect.get(value, DISPOSE)?.call(value);
}
