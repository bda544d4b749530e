// The classes of `ctx.storage` look like classes of the platform, so that code that recognizes the real storage by its
// shape accepts them. `new` throws, a method called on another object throws, and they print as [object Name].

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';

/** Gives a class the name it prints, and enumerable members on its prototype. */
export function asPlatformClass(type: { readonly prototype: object }, name: string): void {
  const { prototype } = type;
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key !== 'constructor') Object.defineProperty(prototype, key, { enumerable: true });
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

/** The error of a method that was called on another object, or detached from its own. */
export function illegalInvocation(name: string): StorageError {
  return storageError(
    'ILLEGAL_INVOCATION',
    `Illegal invocation: use this on a ${name}, not detached from it.`,
  );
}

/** The error of `new` in a program. */
export function illegalConstructor(name: string): StorageError {
  return storageError('ILLEGAL_INVOCATION', `${name} cannot be constructed; use ctx.storage.sql.`);
}

/** A token that only this package can pass to a constructor. */
export const INTERNAL = Symbol('internal');

/** Refuses `new` from user code. @throws ILLEGAL_INVOCATION */
export function checkConstructor(name: string, token: unknown): void {
  if (token !== INTERNAL) {
    throw storageError('ILLEGAL_INVOCATION', `${name} cannot be constructed; use ctx.storage.`);
  }
}
