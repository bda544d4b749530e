// `env` of code beside the objects: a name that is not served is an error, instead of `undefined` and a TypeError
// elsewhere.

import { storageError } from '../../contract/errors.ts';

/** `env`, whose unknown names throw UNKNOWN_CLASS. `then` and `toJSON` are asked for by the language. */
export function checkedEnv(env: object, served: Iterable<string>): object {
  const names = [...served];
  return new Proxy(env, {
    get(target, name) {
      if (typeof name === 'symbol' || name in target || name === 'then' || name === 'toJSON') {
        return Reflect.get(target, name);
      }
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
