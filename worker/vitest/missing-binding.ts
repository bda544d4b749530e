// A member of `env` that does not exist here: using it names it, and the way out.
//
// Invariant: looking at it is no use of it: programs read symbols, `then` and `toJSON` of any value that they await,
// print or compare.

import { storageError } from '../../src/shared/contract/errors.ts';

/** `product`: the section of the configuration that declares it. @throws INVALID_ARGUMENT when a member is read */
export function missingBinding(name: string, product: string): object {
  return new Proxy(
    {},
    {
      get(target, member) {
        if (typeof member === 'symbol' || member in target || LOOKED_AT.has(member)) {
          return Reflect.get(target, member);
        }
        throw storageError(
          'INVALID_ARGUMENT',
          `env.${name}.${member}: bindings of "${product}" do not exist here. Export an object named ${name}, with the ` +
            'members that the code uses, from the module that the option doubles of cloudflareTest() names.',
        );
      },
    },
  );
}

const LOOKED_AT: ReadonlySet<string> = new Set([
  'then',
  'toJSON',
  'asymmetricMatch',
  'nodeType',
  'tagName',
]);
