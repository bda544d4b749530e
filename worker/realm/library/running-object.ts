// Defines the imports that concern the running object: `env`, `exports`, `waitUntil`, and `withEnv` and its relatives.
//
// Invariant: the call given to `withEnv`, and everything that it awaits, sees the given `env`. No other code sees it.

import { AsyncLocalStorage } from '../modules/async-hooks.ts';
import { providedEnvForReader } from './provided.ts';
import { runningHostBindings } from './running-hosts.ts';

/**
 * The app's `env` as an import: it has the same members as `this.env` of an object, and code may replace them. While
 * modules are evaluated, it has the members given to `provideEnv`.
 */
export const env: Record<string, unknown> = lazyProxy(
  (name) => overrides?.getStore()?.env ?? runningHostBindings()?.env ?? providedEnvForReader(name),
  () => true,
);

/** The namespaces of all classes, by class name. */
export const exports: Readonly<Record<string, unknown>> = lazyProxy(
  () => overrides?.getStore()?.exports ?? runningHostBindings()?.exports ?? {},
  () => overrides?.getStore()?.exports !== undefined,
);

/** Replaces `env` or `exports` during one call. */
interface Overrides {
  readonly env?: object;
  readonly exports?: object;
}

interface OverridesStore {
  getStore(): Overrides | undefined;
  run<T>(store: Overrides, call: () => T): T;
}

// This is module state, as the imports are. It is created on first use, because tracking code across `await` takes time
// in browsers.
let overrides: OverridesStore | undefined;

/**
 * Calls the function. During the call, the import `env` is the given object. A value that is not an object has no
 * effect.
 */
export function withEnv<T>(env: unknown, call: () => T): T {
  return withOverrides('withEnv', { env }, call, 2);
}

/** Calls the function. During the call, the import `exports` is the given object. */
export function withExports<T>(exports: unknown, call: () => T): T {
  return withOverrides('withExports', { exports }, call, 2);
}

/** Calls the function. During the call, the imports `env` and `exports` are the given objects. */
export function withEnvAndExports<T>(env: unknown, exports: unknown, call: () => T): T {
  return withOverrides('withEnvAndExports', { env, exports }, call, 3);
}

function withOverrides<T>(
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
  overrides ??= new (asyncHooks().AsyncLocalStorage)();
  const objects = Object.entries(members).filter(
    ([, value]) => typeof value === 'object' && value !== null,
  );
  return overrides.run({ ...overrides.getStore(), ...Object.fromEntries(objects) }, () => call());
}

/** Returns Node's own module, which tracks tasks exactly, or else this package's replacement. */
function asyncHooks(): { readonly AsyncLocalStorage: new () => OverridesStore } {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): { AsyncLocalStorage: never } | undefined };
  };
  return process?.getBuiltinModule?.('node:async_hooks') ?? ({ AsyncLocalStorage } as never);
}

/** Calls `ctx.waitUntil` of the object whose code is running. */
export function waitUntil(...work: [Promise<unknown>]): void {
  if ((work as unknown[]).length === 0) {
    throw new TypeError(
      "Failed to execute 'waitUntil' on 'EntrypointsModule': parameter 1 is not of type 'Promise'.",
    );
  }
  runningHostBindings()?.waitUntil(Promise.resolve(work[0]));
}

/**
 * Makes a proxy that looks its target up on each use, because programs import it before a host runs. While `canChange`
 * returns false, assignments and deletions fail.
 */
function lazyProxy(
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
