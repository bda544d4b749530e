// What the classes of `ctx.storage` have in common: they look like platform objects, so that code
// that recognizes the real storage by its shape accepts them. `new` throws, a method called on
// another object throws, and they print as [object Name].

import { storageError } from '../../src/contract/errors.ts';

/** A token that only this package can pass to a constructor. */
export const INTERNAL = Symbol('internal');

/** Refuses `new` from user code. @throws ILLEGAL_INVOCATION */
export function checkConstructor(name: string, token: unknown): void {
  if (token !== INTERNAL) {
    throw storageError('ILLEGAL_INVOCATION', `${name} cannot be constructed; use ctx.storage.`);
  }
}
