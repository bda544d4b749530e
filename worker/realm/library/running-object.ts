// The imports of code that concern its own object: its `env`, the namespaces, and `waitUntil`.
//
// Invariant: an `env` given for a call is seen by the call and everything that it awaits, and by nothing else.

import { AsyncLocalStorage } from '../modules/async-hooks.ts';
import { providedFor } from './provided.ts';
import { runningHostBindings } from './running-hosts.ts';

/**
 * The app's `env`, and the namespaces of its classes, as an import instead of a constructor's
 * parameter: the members of `this.env`, which code may replace. While modules are evaluated, it shows the argument of
 * `provideEnv`.
 */
export const env: Record<string, unknown> = mirror(
  (name) => given?.getStore()?.env ?? runningHostBindings()?.env ?? providedFor(name),
  () => true,
);

/** The namespaces of all classes, by name of the class. */
export const exports: Readonly<Record<string, unknown>> = mirror(
  () => given?.getStore()?.exports ?? runningHostBindings()?.exports ?? {},
  () => given?.getStore()?.exports !== undefined,
);

/** Objects that the imports show for the length of a call. */
interface Given {
  readonly env?: object;
  readonly exports?: object;
}

interface GivenStore {
  getStore(): Given | undefined;
  run<T>(store: Given, call: () => T): T;
}

// Of the module, as the imports are; undefined until the first use: following code across `await` costs browsers time.
let given: GivenStore | undefined;

/**
 * The function's result. For it, and everything that it awaits, the import `env` shows this object; anything else than an
 * object changes nothing.
 */
export function withEnv<T>(env: unknown, call: () => T): T {
  return withGiven('withEnv', { env }, call, 2);
}

/** The same for `exports`. */
export function withExports<T>(exports: unknown, call: () => T): T {
  return withGiven('withExports', { exports }, call, 2);
}

/** The same for both. */
export function withEnvAndExports<T>(env: unknown, exports: unknown, call: () => T): T {
  return withGiven('withEnvAndExports', { env, exports }, call, 3);
}

function withGiven<T>(
  operation: string,
  members: Readonly<Record<string, unknown>>,
  call: () => T,
  position: number,
): T {
  if (typeof call !== 'function') {
    throw new TypeError(
      `Failed to execute '${operation}' on 'EnvModule': parameter ${position} is not of type 'function'.`,
    );
  }
  given ??= new (asyncHooks().AsyncLocalStorage)();
  const objects = Object.entries(members).filter(
    ([, value]) => typeof value === 'object' && value !== null,
  );
  return given.run({ ...given.getStore(), ...Object.fromEntries(objects) }, () => call());
}

/** Node's own follow code exactly; other runtimes have this package's. */
function asyncHooks(): { readonly AsyncLocalStorage: new () => GivenStore } {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): { AsyncLocalStorage: never } | undefined };
  };
  return process?.getBuiltinModule?.('node:async_hooks') ?? ({ AsyncLocalStorage } as never);
}

/** `ctx.waitUntil` of the object whose code is running. */
export function waitUntil(...work: [Promise<unknown>]): void {
  if ((work as unknown[]).length === 0) {
    throw new TypeError(
      "Failed to execute 'waitUntil' on 'EntrypointsModule': parameter 1 is not of type 'Promise'.",
    );
  }
  runningHostBindings()?.waitUntil(Promise.resolve(work[0]));
}

// Imported before serve() runs, so it looks its target up on each use.
// `canChange`: whether code may change the target.
function mirror(
  target: (name: string | symbol) => object,
  canChange: () => boolean,
): Record<string, unknown> {
  return new Proxy(
    {},
    {
      get: (_, name) => Reflect.get(target(name), name),
      has: (_, name) => Reflect.has(target(''), name),
      ownKeys: () => Reflect.ownKeys(target('')),
      getOwnPropertyDescriptor: (_, name) => {
        const found = Reflect.getOwnPropertyDescriptor(target(''), name);
        return found && { ...found, configurable: true };
      },
      set: (_, name, value) => canChange() && Reflect.set(target(''), name, value),
      defineProperty: (_, name, property) =>
        canChange() &&
        Reflect.defineProperty(target(''), name, { ...property, configurable: true }),
      deleteProperty: (_, name) => canChange() && Reflect.deleteProperty(target(''), name),
    },
  );
}
