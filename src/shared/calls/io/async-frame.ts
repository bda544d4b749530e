// Tracks the stores of AsyncLocalStorage across `await` in browsers, whose engines do not do so.
//
// A frame is an immutable map of the stores that running code sees. Awaiting a promise reads its `constructor`
// (ECMAScript, PromiseResolve), and so does `then`, each just before it subscribes. A getter for `constructor` subscribes
// first: its reaction restores the frame of the awaiting code immediately before that code continues. Awaiting anything
// else, such as undefined or an object with its own `then`, reads no `constructor`: such code continues in the frame of
// the code that ran last in this turn. (The promises of calls between objects call `reactInFrame`.)
//
// Invariant: nothing is replaced, and every function here costs nothing, until `followFrames` is called.

import { replaceGlobal, undoAll } from './replace-global.ts';

/** Maps each AsyncLocalStorage to its store; undefined if there are no stores. */
export type AsyncFrame = ReadonlyMap<object, unknown> | undefined;

/** The native function, because `followFrames` replaces the global one. */
const { queueMicrotask } = globalThis;

let current: AsyncFrame;
let isFollowing = false;

/** Returns the frame of the running code. */
export function currentFrame(): AsyncFrame {
  return current;
}

/**
 * Calls the function in the frame. If it returns a promise, the code after its awaits also runs in the
 * frame.
 */
export function runInFrame<T>(frame: AsyncFrame, call: () => T): T {
  let isAsync = false;
  // This microtask runs before those of anything that the call awaits.
  queueMicrotask(() => {
    if (isAsync) current = frame;
  });
  const outer = current;
  current = frame;
  try {
    const result = call();
    isAsync = result instanceof Promise;
    return result;
  } finally {
    current = outer;
  }
}

/** Runs a task without the stores of the code that starts it. */
export function runWithoutFrame(task: () => void): void {
  if (!isFollowing) {
    task();
    return;
  }
  queueMicrotask(leaveFrame);
  const outer = current;
  current = undefined;
  try {
    task();
  } finally {
    current = outer;
  }
}

/** Leaves the frame at the end of a turn: only code that awaits a promise keeps its stores longer. */
export function leaveFrame(): void {
  current = undefined;
}

/** Returns a function that runs in the current frame, whenever it is called. */
export function bindToFrame<This, Args extends unknown[], Result>(
  call: (this: This, ...args: Args) => Result,
): (this: This, ...args: Args) => Result {
  if (!isFollowing) return call;
  const frame = current;
  return function (this: This, ...args) {
    return runInFrame(frame, () => Reflect.apply(call, this, args));
  };
}

/**
 * Wraps a handler given to `then` of an object that imitates a promise. The handler runs in the frame, and so does the
 * code that awaits the object. `await` reads `then` at once but calls it later, so pass the frame in which it was read.
 */
export function reactInFrame(frame: AsyncFrame, handler: unknown): unknown {
  if (!isFollowing || typeof handler !== 'function') return handler;
  return (value: unknown) => {
    // This microtask runs before the code that awaits the promise which the handler settles.
    queueMicrotask(() => {
      current = frame;
    });
    return runInFrame(frame, () => handler(value));
  };
}

/** Starts tracking frames across `await` and `queueMicrotask`. Call the result to stop. */
export function followFrames(): () => void {
  if (isFollowing) return () => {};
  isFollowing = true;
  const undo = [watchSubscriptions(), followMicrotasks()];
  return () => {
    undoAll(undo);
    isFollowing = false;
    current = undefined;
  };
}

function watchSubscriptions(): () => void {
  const { prototype } = Promise;
  const { then } = prototype;
  const original = Object.getOwnPropertyDescriptor(prototype, 'constructor')!;
  // `then` reads `constructor` again, which must not subscribe again.
  let isSubscribing = false;
  Object.defineProperty(prototype, 'constructor', {
    configurable: true,
    enumerable: false,
    get(this: unknown) {
      if (isSubscribing || !(this instanceof Promise)) return Promise;
      const frame = current;
      const enter = () => {
        current = frame;
      };
      isSubscribing = true;
      try {
        Reflect.apply(then, this, [enter, enter]);
      } catch {
        // The object has the prototype of a promise but is not a promise. The code that awaits it gets the error
        // itself.
      } finally {
        isSubscribing = false;
      }
      return Promise;
    },
    // An assignment creates an own property, as it would with the native data property.
    set(this: object, value: unknown) {
      Object.defineProperty(this, 'constructor', {
        value,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    },
  });
  return () => void Object.defineProperty(prototype, 'constructor', original);
}

function followMicrotasks(): () => void {
  const followed = (callback: () => void) =>
    queueMicrotask(typeof callback === 'function' ? bindToFrame(callback) : callback);
  return replaceGlobal(globalThis, 'queueMicrotask', followed);
}
