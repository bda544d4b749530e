// Implements `withSignal`, which returns a view of a handle or stub whose calls a signal cancels.
//
// `ctx.storage` and stubs have the same methods as on workerd, which leave no place for a signal, so it is passed to this
// separate function.

import { storageError } from '../../contract/errors.ts';

/** Makes a view of the handle or stub whose calls the signal cancels. */
type AddSignal = (signal: AbortSignal) => object;

/** The key of the function that adds a signal. The symbol is not registered, so programs cannot find it by name. */
const ADD_SIGNAL = Symbol('withSignal');

/** Makes `withSignal` accept the target. */
export function setWithSignal(target: object, add: AddSignal): void {
  Object.defineProperty(target, ADD_SIGNAL, { value: add, configurable: true });
}

/**
 * Returns a view of the handle or stub. Aborting the signal cancels the view's calls: they reject with its reason.
 *
 * - A call that has not begun has no effect.
 * - A statement of SQL that runs is stopped and undone. If the worker had already performed the call, its
 *   result is returned: a call that rejects with the reason has changed nothing.
 * - A transaction is rolled back, unless its commit was already sent. Its promise then settles with the
 *   outcome.
 * - A live read ends.
 * - A call of a method rejects at once. A method that has begun is not undone: pass it the signal, too, if it
 *   is to stop. The statement of SQL that it runs then throws CANCELLED.
 *
 * @throws INVALID_ARGUMENT for anything but a handle of `openStorage` or `connect().storage()`, or the stub of
 *   an object; and for a signal that is not an AbortSignal
 */
export function withSignal<Target extends object>(target: Target, signal: AbortSignal): Target {
  const add = isObject(target)
    ? (Reflect.get(target, ADD_SIGNAL) as AddSignal | undefined)
    : undefined;
  if (add === undefined) {
    throw storageError(
      'INVALID_ARGUMENT',
      'withSignal: takes a handle of openStorage(), or the stub of an object; the code of an object has ' +
        'no signals for its own storage.',
    );
  }
  if (!((signal as unknown) instanceof AbortSignal)) {
    throw storageError('INVALID_ARGUMENT', 'withSignal: takes an AbortSignal as second argument.');
  }
  return add(signal) as Target;
}

/** Makes a signal that aborts as soon as one of the two does. */
export function bothSignals(one: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return one === undefined || one === other ? other : AbortSignal.any([one, other]);
}

/**
 * Settles as the work does. If the signal aborts first, rejects with the signal's reason, and passes a later result of
 * the work to `late`.
 */
export function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  late: (result: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work
      .then((result) => {
        if (signal.aborted) late(result);
        resolve(result);
      }, reject)
      .finally(() => signal.removeEventListener('abort', abort));
  });
}

function isObject(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}
