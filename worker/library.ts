// What object code imports from `cloudflare:workers`, and from `ctx-storage/worker`: the base
// classes, and what concerns the object whose code is running.
//
// A module of its own, without the host: it is bundled with user code wherever that runs.
// Keeps true: nothing here does anything before a host is connected to it, but that the classes of
// sockets are there, as libraries expect when they are loaded.

import type { DurableObjectState } from '../src/contract/object.ts';

import { installSocketClasses } from '../src/sockets/install.ts';

export { RpcTarget } from '../src/contract/rpc-target.ts';

installSocketClasses(globalThis);

/** Base of a class whose objects are hosted: `ctx` and `env` as the constructor got them. */
export class DurableObject<Env = unknown, Props = unknown> {
  protected readonly ctx: DurableObjectState<Props>;
  protected readonly env: Env;

  constructor(ctx: DurableObjectState<Props>, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}

/**
 * Base of the other entry points of a Workers script. It is here so that a file which holds both can
 * be imported unchanged; nothing here calls one.
 */
export class WorkerEntrypoint<Env = unknown, Props = unknown> {
  protected readonly ctx: unknown;
  protected readonly env: Env;
  declare readonly props: Props;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }
}

/** What a host tells this module. */
export interface Connection {
  readonly env: object;
  readonly exports: object;
  /** Keeps the object whose code is running in memory until the promise settles. */
  waitUntil(work: Promise<unknown>): void;
}

let connection: Connection | undefined;

/** Called by the host, once. */
export function connectLibrary(host: Connection): void {
  connection = host;
}

/** What the app passes to its objects and the namespaces of their classes, outside of an object. */
export const env: Readonly<Record<string, unknown>> = mirror(() => connection?.env);

/** The namespaces of all classes, by name of the class. */
export const exports: Readonly<Record<string, unknown>> = mirror(() => connection?.exports);

/** `ctx.waitUntil` of the object whose code is running. */
export function waitUntil(work: Promise<unknown>): void {
  connection?.waitUntil(work);
}

// Imported before serve() runs, so it shows what is there when it is read.
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
