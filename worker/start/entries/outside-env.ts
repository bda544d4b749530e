// `env` for code beside the objects, such as a test.
//
// Invariant: it is the `env` of the code, so that a value, a fake or a spy of a test reaches objects and events. Only the
// namespaces differ: their stubs can be read live, and reach the next instance.

import { isTaskExact } from '../../../src/shared/calls/io/current-context.ts';
import { namespaceClass } from '../../../src/shared/calls/stubs/known-stubs.ts';
import type { Namespaces } from '../../objects/calls/namespaces.ts';

type Env = Readonly<Record<string | symbol, unknown>>;

/** Before code changes the `env` of a host that has started. */
export function outsideEnv(namespaces: Pick<Namespaces, 'env' | 'outsideEnv'>): object {
  const own: Env = namespaces.outsideEnv as Env;
  // Where code is not followed across each await, objects have members of their own.
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
