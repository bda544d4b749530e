// The classes of `ctx.storage` look like classes of the platform, so that code that recognizes the real storage by its
// shape accepts them. `new` throws, a method called on another object throws, and they print as [object Name].

import { type StorageError, storageError } from '../../../src/shared/contract/errors.ts';

/** Sets the name that objects of a class print, and makes its prototype's members enumerable. */
export function asPlatformClass(type: { readonly prototype: object }, name: string): void {
  const { prototype } = type;
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key !== 'constructor') Object.defineProperty(prototype, key, { enumerable: true });
  }
  Object.defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}

/** Makes the error of a method that was called on another object, or without its object. */
export function illegalInvocation(name: string): StorageError {
  return storageError(
    'ILLEGAL_INVOCATION',
    `Illegal invocation: use this on a ${name}, not detached from it.`,
  );
}

/** Makes the error of a program that calls `new`. */
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
