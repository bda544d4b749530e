// The imports of code that concern its own object: its `env`, the namespaces, and `waitUntil`.

import { provided } from './provided.ts';
import { runningHostBindings } from './running-hosts.ts';

/**
 * The app's `env`, and the namespaces of its classes, as an import instead of a constructor's
 * parameter. While modules are evaluated, it shows the argument of `provideEnv`.
 */
export const env: Readonly<Record<string, unknown>> = mirror(
  () => runningHostBindings()?.env ?? provided().env,
);

/** The namespaces of all classes, by name of the class. */
export const exports: Readonly<Record<string, unknown>> = mirror(
  () => runningHostBindings()?.exports,
);

/** `ctx.waitUntil` of the object whose code is running. */
export function waitUntil(work: Promise<unknown>): void {
  runningHostBindings()?.waitUntil(work);
}

// Imported before serve() runs, so it looks its target up on each use.
function mirror(target: () => object | undefined): Readonly<Record<string, unknown>> {
  const current = () => target() ?? {};
  return new Proxy(
    {},
    {
      get: (_, name) => Reflect.get(current(), name),
      has: (_, name) => Reflect.has(current(), name),
      ownKeys: () => Reflect.ownKeys(current()),
      getOwnPropertyDescriptor: (_, name) => {
        const found = Reflect.getOwnPropertyDescriptor(current(), name);
        return found && { ...found, configurable: true };
      },
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
    },
  );
}
