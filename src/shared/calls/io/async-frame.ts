// The stores of AsyncLocalStorage where the engine does not follow code across an `await`: browsers.
//
// A frame holds the stores of the code that runs; it is never changed, only left for another. Awaiting
// a promise reads its `constructor` (ECMAScript, PromiseResolve), and so does `then`, each just before
// it subscribes. A getter there subscribes first: its reaction enters the frame of the code that
// awaits, and runs immediately before that code goes on. Awaiting anything else, such as undefined or
// an object with a `then` of its own, reads nothing: such code goes on in the frame of the code that ran
// last in this turn. (The promises of calls between objects call `reactInFrame`.)
//
// Invariant: nothing is replaced, and every function here costs nothing, until `followFrames` is called.

import { replaceGlobal, undoAll } from './replace-global.ts';

/** The stores by their AsyncLocalStorage; undefined: there are none. */
export type AsyncFrame = ReadonlyMap<object, unknown> | undefined;

/** The engine's own: `followFrames` replaces the global. */
const { queueMicrotask } = globalThis;

let current: AsyncFrame;
let isFollowing = false;

/** The frame of the running code. */
export function currentFrame(): AsyncFrame {
  return current;
}

/**
 * Calls the function in the frame. If it returns a promise, the code after its awaits also runs in the
 * frame.
 */
export function runInFrame<T>(frame: AsyncFrame, call: () => T): T {
  let isAsync = false;
  // Queued ahead of everything the call awaits.
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

/** Runs a task that inherits no store from the code that starts it. */
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

/** No store outlives the turn it was entered in, except where code awaits a promise. */
export function leaveFrame(): void {
  current = undefined;
}

/** The function, called in the frame of the code that binds it. */
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
 * A handler given to `then` of an object that only acts as a promise: it is called in the frame, and
 * code that awaits the object goes on in it. Awaiting reads `then` at once, and calls it later, so the
 * frame is the one in which `then` was read.
 */
export function reactInFrame(frame: AsyncFrame, handler: unknown): unknown {
  if (!isFollowing || typeof handler !== 'function') return handler;
  return (value: unknown) => {
    // Queued ahead of the code that waits for the promise that the handler settles.
    queueMicrotask(() => {
      current = frame;
    });
    return runInFrame(frame, () => handler(value));
  };
}

/** Follows frames across `await` and `queueMicrotask` from now on; the result ends it. */
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
  // `then` reads the property, too.
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
        // An object with the prototype of a promise that is not one; whoever reads it finds out.
      } finally {
        isSubscribing = false;
      }
      return Promise;
    },
    // As with the data property that it stands for: an assignment gives the object its own.
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
