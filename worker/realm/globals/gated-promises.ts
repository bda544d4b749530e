// Returns the results of `Blob` and `crypto.subtle` methods through the input gate of the object that called them.
//
// In a browser, the code after `await` of such a native promise could not be assigned to its object: calls through
// `env`, which all objects share, would neither wait for the object's writes nor return to it.

import { isTaskExact } from '../../../src/shared/calls/io/current-context.ts';
import type { CurrentContext } from '../../../src/shared/calls/io/io-context.ts';
import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';

/** The members of the global scope that this file uses. `SubtleCrypto` is missing outside a secure context. */
type Scope = Pick<typeof globalThis, 'Blob'> & Partial<Pick<typeof globalThis, 'SubtleCrypto'>>;

/** Replaces these methods, except where the platform tracks tasks exactly (Node). Call the result to restore them. */
export function installGatedPromises(
  { Blob, SubtleCrypto }: Scope,
  current: CurrentContext,
): () => void {
  const undo: (() => void)[] = [];
  for (const owner of isTaskExact ? [] : [Blob, SubtleCrypto]) {
    for (const [name, { value }] of Object.entries(descriptorsOf(owner))) {
      if (name === 'constructor' || typeof value !== 'function') continue;
      undo.push(replaceGlobal(owner!.prototype, name, gateResult(value, current)));
    }
  }
  return () => undoAll(undo);
}

function descriptorsOf(owner: { readonly prototype: object } | undefined): PropertyDescriptorMap {
  return owner === undefined ? {} : Object.getOwnPropertyDescriptors(owner.prototype);
}

function gateResult(method: (...owner: unknown[]) => unknown, current: CurrentContext) {
  return function (this: unknown, ...owner: unknown[]): unknown {
    const result = Reflect.apply(method, this, owner);
    const context = result instanceof Promise ? current() : undefined;
    return context === undefined ? result : context.receive(() => result as Promise<unknown>);
  };
}
