// Implements `node:async_hooks` for browsers, with the members that workerd has. Programs in Node get Node's own module.
//
// As in workerd, a store can be entered only for the duration of a call: `enterWith` and `disable` throw.

import {
  type AsyncFrame,
  bindToFrame,
  currentFrame,
  followFrames,
  runInFrame,
} from '../../../src/shared/calls/io/async-frame.ts';

type Callable = (...args: never[]) => unknown;

interface AsyncLocalStorageOptions<T> {
  /** The result of `getStore` outside of `run`. */
  readonly defaultValue?: T;
  readonly name?: string;
}

/** Holds a value that a call and everything that it awaits can read with `getStore`. */
export class AsyncLocalStorage<T> {
  readonly name: string;
  readonly #defaultValue: T | undefined;

  /** Returns a function that runs with the stores that are current now. */
  static bind<F extends Callable>(fn: F): F {
    checkFunction('AsyncLocalStorage.bind', fn);
    return bindToFrame(fn as never) as never as F;
  }

  /** Returns a function that calls others with the stores that are current now. */
  static snapshot(): <R, Args extends unknown[]>(fn: (...args: Args) => R, ...args: Args) => R {
    const frame = currentFrame();
    return (fn, ...args) => runInFrame(frame, () => fn(...args));
  }

  constructor({ defaultValue, name = '' }: AsyncLocalStorageOptions<T> = {}) {
    this.#defaultValue = defaultValue;
    this.name = name;
    followFrames();
  }

  getStore(): T | undefined {
    const frame = currentFrame();
    return frame?.has(this) ? (frame.get(this) as T | undefined) : this.#defaultValue;
  }

  /**
   * Calls the function with this store; `getStore` returns it inside the function, and in everything
   * that it awaits.
   */
  run<R, Args extends unknown[]>(store: T, fn: (...args: Args) => R, ...args: Args): R {
    return runInFrame(new Map(currentFrame()).set(this, store), () => fn(...args));
  }

  /** Calls the function without a store. */
  exit<R, Args extends unknown[]>(fn: (...args: Args) => R, ...args: Args): R {
    const frame = new Map(currentFrame());
    frame.delete(this);
    return runInFrame(frame, () => fn(...args));
  }

  enterWith(_store: T): never {
    throw new Error(
      'asyncLocalStorage.enterWith() is not implemented, as in workerd; call run() instead.',
    );
  }

  disable(): never {
    throw new Error(
      'asyncLocalStorage.disable() is not implemented, as in workerd; call exit() instead.',
    );
  }
}

/** Remembers the stores of the code that creates it, for functions that are called later. */
export class AsyncResource {
  readonly type: string;
  readonly #frame: AsyncFrame = currentFrame();

  static bind<F extends Callable>(fn: F): F {
    return AsyncLocalStorage.bind(fn);
  }

  constructor(type: string) {
    this.type = type;
  }

  bind<F extends Callable>(fn: F): F {
    checkFunction('AsyncResource.bind', fn);
    const frame = this.#frame;
    return function (this: unknown, ...args: never[]) {
      return runInFrame(frame, () => Reflect.apply(fn, this, args));
    } as F;
  }

  runInAsyncScope<R, Args extends unknown[]>(
    fn: (...args: Args) => R,
    thisArg?: unknown,
    ...args: Args
  ): R {
    return runInFrame(this.#frame, () => Reflect.apply(fn, thisArg, args) as R);
  }

  /** Returns 0, as in workerd, where resources have no ids. */
  asyncId(): number {
    return 0;
  }

  triggerAsyncId(): number {
    return 0;
  }

  emitDestroy(): this {
    return this;
  }
}

function checkFunction(method: string, fn: unknown): void {
  if (typeof fn !== 'function') throw new TypeError(`${method}: takes a function.`);
}

export default { AsyncLocalStorage, AsyncResource };
