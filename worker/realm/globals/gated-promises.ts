// Digests, keys and contents of Blobs come back through the input gate of the object that asked, like its requests.
//
// A browser does not follow code across these promises, so without this, the code after them would belong to no object:
// calls by `env`, which all objects share, would neither wait for its writes nor return to it.

import { isTaskExact } from '../../../src/shared/calls/io/current-context.ts';
import type { CurrentContext } from '../../../src/shared/calls/io/io-context.ts';
import { replaceGlobal, undoAll } from '../../../src/shared/calls/io/replace-global.ts';

/** `SubtleCrypto` is missing outside a secure context. */
type Scope = Pick<typeof globalThis, 'Blob'> & Partial<Pick<typeof globalThis, 'SubtleCrypto'>>;

/** Gates the promises of the scope, where the platform does not follow them; the result undoes it. */
export function installPromises(
  { Blob, SubtleCrypto }: Scope,
  current: CurrentContext,
): () => void {
  const undo: (() => void)[] = [];
  for (const given of isTaskExact ? [] : [Blob, SubtleCrypto]) {
    for (const [name, { value }] of Object.entries(membersOf(given))) {
      if (name === 'constructor' || typeof value !== 'function') continue;
      undo.push(replaceGlobal(given!.prototype, name, gated(value, current)));
    }
  }
  return () => undoAll(undo);
}

function membersOf(given: { readonly prototype: object } | undefined): PropertyDescriptorMap {
  return given === undefined ? {} : Object.getOwnPropertyDescriptors(given.prototype);
}

function gated(method: (...given: unknown[]) => unknown, current: CurrentContext) {
  return function (this: unknown, ...given: unknown[]): unknown {
    const result = Reflect.apply(method, this, given);
    const context = result instanceof Promise ? current() : undefined;
    return context === undefined ? result : context.receive(() => result as Promise<unknown>);
  };
}
