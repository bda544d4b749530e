// `env` of code beside the objects: a name that is not served is an error, instead of `undefined` and a TypeError
// elsewhere.

import { storageError } from '../../contract/errors.ts';
import { isOfVue } from './remote-name.ts';

/** By the language. */
const ASKED_OF_ANY: ReadonlySet<string> = new Set(['then', 'toJSON']);

/** `env`, whose unknown names throw UNKNOWN_CLASS. */
export function checkedEnv(env: object, served: Iterable<string>): object {
  const names = [...served];
  return new Proxy(env, {
    get(target, name) {
      const isAskedOfAny = typeof name === 'symbol' || ASKED_OF_ANY.has(name) || isOfVue(name);
      if (isAskedOfAny || name in target) return Reflect.get(target, name);
      throw unknownClass(name, names);
    },
  });
}

export function unknownClass(name: string, served: Iterable<string>): Error {
  return storageError(
    'UNKNOWN_CLASS',
    `The worker serves no class "${name}"; it serves: ${[...served].join(', ') || 'none'}.`,
  );
}
