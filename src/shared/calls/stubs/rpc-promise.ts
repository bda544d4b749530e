// Makes placeholders for values of the other side that have not arrived yet: members of stubs, and promises of calls. Both
// can be awaited, and both have members themselves, so that `stub.room('a').topic()` needs one `await`.
//
// Invariant: the same members can be reached as in workerd: members of stubs, and own properties of functions and plain
// objects. Indices cannot be reached, nor members of an array, a string or another value.

import { storageError } from '../../contract/errors.ts';
import { currentFrame, reactInFrame } from '../io/async-frame.ts';
import { callMember, type Path, readMember } from './invoke.ts';
import { addMember } from './known-stubs.ts';
import { isIn, isRemote } from './remote-name.ts';
import { RpcPromise, RpcProperty } from './rpc-classes.ts';

/** `Symbol.dispose`, or the symbol that compilers use where the engine lacks it. */
export const DISPOSE: symbol = Symbol.dispose ?? Symbol.for('Symbol.dispose');

/** Reads and calls members of a value of the other side. */
export interface Remote {
  get(path: Path): Promise<unknown>;
  call(path: Path, parameters: unknown[]): Promise<unknown>;
}

/** Makes a member, which can be called as a method or awaited as a property. It keeps its `owner` in memory. */
export function remoteMember(remote: Remote, path: Path, owner?: object): object {
  const get = () => remote.get(path);
  const member = new Proxy(() => {}, {
    apply: (_target, holder, parameters) =>
      isForJson(path, parameters) ? ownData(holder) : rpcPromise(remote.call(path, parameters)),
    has: (target, name) => name === 'then' || isIn(target, name),
    get(target, name) {
      if (name === Symbol.toStringTag) return 'JsRpcProperty'; // as in workerd, so that programs do not take it for a function
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
 * Makes the promise of a call, whose members can be used before it resolves. It cannot be called, because programs must
 * recognize it as a promise: a function that a call returns has to be awaited first.
 */
export function rpcPromise(value: Promise<unknown>): object {
  let isDisposed = false;
  const use = () => {
    if (isDisposed) throw disposedError('promise');
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

/** Returns true for a call that JSON.stringify makes: `toJSON` with a key. As in workerd, it stays on this side. */
function isForJson(path: Path, parameters: readonly unknown[]): boolean {
  return path.at(-1) === 'toJSON' && parameters.length === 1 && typeof parameters[0] === 'string';
}

/** Returns what JSON.stringify shows of a stub: its own properties; undefined for the stub of a function. */
function ownData(stub: unknown): object | undefined {
  return typeof stub === 'object' ? { ...stub } : undefined;
}

/** Makes the error for a disposed stub or promise, with workerd's message. It is not retryable. */
export function disposedError(what: 'stub' | 'promise'): Error {
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
