// What the classes of `ctx.storage` share: programs see them as classes of the platform.

import { type StorageError, storageError } from '../../src/contract/errors.ts';

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
