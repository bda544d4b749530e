// Makes the `env` for code outside of objects, such as a test.
//
// Invariant: it reads and writes the `env` of object code, so that values, fakes and spies of a test reach objects and
// events. Only the namespaces differ: their stubs can be read live, and never break. No assertion keeps this: `env` is
// an object of the user's, read when it is used.

import { isTaskExact } from '../../../src/shared/calls/io/current-context.ts';
import { namespaceClass } from '../../../src/shared/calls/stubs/known-stubs.ts';
import type { Namespaces } from '../../objects/calls/namespaces.ts';

type Env = Readonly<Record<string | symbol, unknown>>;

/** Makes the `env`. Call it after the start of a host, before code changes its `env`. */
export function outsideEnv(namespaces: Pick<Namespaces, 'env' | 'outsideEnv'>): object {
  const own: Env = namespaces.outsideEnv as Env;
  // Where tasks are not tracked exactly, members of object code's `env` would act as an object, so they are not shared.
  if (!isTaskExact) return own;
  const made: Env = { ...namespaces.env };
  return new Proxy(namespaces.env, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      const isNamespace = namespaceClass(member as object) !== undefined;
      return isNamespace && member === made[name] ? own[name] : member;
    },
  });
}
