// Methods that workerd adds to classes of the web platform: `crypto.subtle.timingSafeEqual` and
// `Headers.getAll`.
//
// Invariant: how long a comparison takes does not depend on which bytes differ.

import { replaceGlobal, undoAll } from '../../src/io/replace-global.ts';

type Scope = Pick<typeof globalThis, 'Headers'> & Partial<Pick<typeof globalThis, 'SubtleCrypto'>>;

/** Adds the methods to the scope's classes; the result undoes it. */
export function installAddedMethods({ Headers, SubtleCrypto }: Scope): () => void {
  function timingSafeEqual(this: unknown, ...[a, b]: unknown[]): boolean {
    if (SubtleCrypto === undefined || !(this instanceof SubtleCrypto)) {
      throw new TypeError('Illegal invocation: call timingSafeEqual on crypto.subtle.');
    }
    return areEqual(bytesOf(a, 1), bytesOf(b, 2));
  }
  function getAll(this: Headers, ...[name]: unknown[]): string[] {
    if (name === undefined) {
      throw new TypeError("Failed to execute 'getAll' on 'Headers': parameter 1 is not a string.");
    }
    if (String(name).toLowerCase() === 'set-cookie') return this.getSetCookie();
    throw new TypeError('getAll() can only be used with the header name "Set-Cookie".');
  }
  const undo = [replaceGlobal(Headers.prototype, 'getAll', getAll)];
  // Missing outside a secure context.
  if (SubtleCrypto !== undefined) {
    undo.push(replaceGlobal(SubtleCrypto.prototype, 'timingSafeEqual', timingSafeEqual));
  }
  return () => undoAll(undo);
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) throw new TypeError('Input buffers must have the same byte length.');
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!;
  return difference === 0;
}

function bytesOf(value: unknown, position: number): Uint8Array {
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(
    `Failed to execute 'timingSafeEqual' on 'SubtleCrypto': parameter ${position} is not an ` +
      'ArrayBuffer or a view of one.',
  );
}
