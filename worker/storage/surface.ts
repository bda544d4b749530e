// What the classes behind `ctx.storage` share: they look like platform objects.
//
// `new` on them throws, a method on a foreign `this` throws, and they print as [object Name]; code
// that checks for the real storage by shape must find it.

import { storageError } from '../../src/contract/errors.ts';

/** Handed to a constructor by this package only. */
export const INTERNAL = Symbol('internal');

/** Refuses `new` from user code. @throws ILLEGAL_INVOCATION */
export function checkConstructor(name: string, token: unknown): void {
  if (token !== INTERNAL) {
    throw storageError('ILLEGAL_INVOCATION', `${name} cannot be constructed; use ctx.storage.`);
  }
}

/** The error of a method that was detached from its object. */
export function illegalInvocation(name: string): Error {
  return storageError(
    'ILLEGAL_INVOCATION',
    `Illegal invocation: call this method on a ${name}, as in ctx.storage.get(key).`,
  );
}
