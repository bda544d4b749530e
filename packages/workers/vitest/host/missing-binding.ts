// Makes a stand-in for a member of `env` that does not exist here. Using the stand-in throws an error that names the
// member and the way out.
//
// Invariant: reading a symbol, `then` or `toJSON` is allowed, because programs read these of any value that they await,
// print or compare. A test may replace the stand-in's members, as with vi.spyOn().

import { storageError } from '@ctx-storage/core/errors';

/**
 * Makes the stand-in. `product` is the section of the configuration that declares the member. The stand-in's members
 * throw INVALID_ARGUMENT when they are called.
 */
export function missingBinding(name: string, product: string): object {
  return new Proxy(
    {},
    {
      get: (target, member) =>
        isLookedAt(member) || member in target
          ? Reflect.get(target, member)
          : refusal(name, product, member),
      has: (target, member) => member in target || !isLookedAt(member),
      getOwnPropertyDescriptor(target, member) {
        const own = Reflect.getOwnPropertyDescriptor(target, member);
        if (own !== undefined || isLookedAt(member)) return own;
        const value = refusal(name, product, member);
        return { value, writable: true, enumerable: false, configurable: true };
      },
    },
  );
}

function refusal(name: string, product: string, member: string): () => never {
  return () => {
    throw storageError(
      'INVALID_ARGUMENT',
      `env.${name}.${member}: bindings of "${product}" do not exist here. Export an object named ${name}, with the ` +
        'members that the code uses, from the module that the option doubles of cloudflareTest() names.',
    );
  };
}

function isLookedAt(member: string | symbol): member is symbol {
  return typeof member === 'symbol' || LOOKED_AT.has(member);
}

const LOOKED_AT: ReadonlySet<string> = new Set([
  'then',
  'toJSON',
  'asymmetricMatch',
  'nodeType',
  'tagName',
]);
