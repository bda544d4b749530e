// Makes the `env` for code outside of objects, in which an unknown name throws, instead of reading as undefined and
// causing a TypeError elsewhere.

import { storageError } from '../../contract/errors.ts';
import { isOfVue } from './remote-name.ts';

/** Names that the language itself reads from any object. */
const LANGUAGE_NAMES: ReadonlySet<string> = new Set(['then', 'toJSON']);

/** Wraps `env`, so that reading an unknown name throws UNKNOWN_CLASS. */
export function checkedEnv(env: object, served: Iterable<string>): object {
  const names = [...served];
  return new Proxy(env, {
    get(target, name) {
      const mayBeMissing = typeof name === 'symbol' || LANGUAGE_NAMES.has(name) || isOfVue(name);
      if (mayBeMissing || name in target) return Reflect.get(target, name);
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
