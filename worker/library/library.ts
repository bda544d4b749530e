// What object code imports from `cloudflare:workers` and `ctx-storage/worker`: the base classes, and
// access to the object whose code is running.
//
// Separate from the host, because it is bundled with user code wherever that runs.
//
// Invariant: importing it has no effect, and nothing here acts before a host runs.

import type { DurableObjectState, RpcStub as RpcStubOf } from '../../src/contract/object.ts';
import { CALLABLE, ENTRYPOINT } from '../../src/contract/rpc-class.ts';
import { pairOfReferences } from '../../src/membrane/references.ts';
import { isRpcStub } from '../../src/stubs/known-stubs.ts';
import { OWN, Party } from '../../src/stubs/party.ts';
import { providedEnv } from './provided-env.ts';
import { runningHostBindings } from './running-hosts.ts';

export type {
  AlarmInvocationInfo,
  AutoResponse,
  DurableObjectId,
  DurableObjectJurisdiction,
  DurableObjectNamespace,
  DurableObjectState,
  DurableObjectStub,
  GetOptions,
  Namespace,
  ObjectResponse,
  ObjectWebSocket,
} from '../../src/contract/object.ts';
export { RpcTarget } from '../../src/contract/rpc-target.ts';
export type {
  DurableObjectStorage,
  ListOptions,
  ReadOptions,
  SqlRow,
  SqlStorage,
  SqlStorageCursor,
  SqlStorageValue,
  SyncKvStorage,
  SyncListOptions,
  Transaction,
  WriteOptions,
} from '../../src/contract/storage.ts';
export { type EnvNames, provideEnv } from './provided-env.ts';

/** `ctx` as the types of this package or of another runtime describe it. */
interface AnyState {
  readonly id: { toString(): string };
  readonly storage: object;
  waitUntil(work: Promise<unknown>): void;
}

/** Base of a Durable Object class; keeps `ctx` and `env` as the constructor received them. */
export class DurableObject<Env = unknown, Props = unknown> {
  protected readonly ctx: DurableObjectState<Props>;
  protected readonly env: Env;

  constructor(ctx: AnyState, env: Env) {
    this.ctx = ctx as DurableObjectState<Props>;
    this.env = env;
  }

  static {
    Object.defineProperty(DurableObject.prototype, CALLABLE, { value: true });
  }
}

/**
 * Base of the other entry points of a Workers script. It exists so that a file with both can be
 * imported unchanged; nothing here calls one.
 */
export class WorkerEntrypoint<Env = unknown, Props = unknown> {
  protected readonly ctx: unknown;
  protected readonly env: Env;
  declare readonly props: Props;

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx;
    this.env = env;
  }

  static {
    Object.defineProperty(WorkerEntrypoint.prototype, ENTRYPOINT, { value: true });
  }
}

/** Base of the workflows of a Workers script. As with `WorkerEntrypoint`, nothing here runs one. */
export class WorkflowEntrypoint<Env = unknown, Props = unknown> extends WorkerEntrypoint<
  Env,
  Props
> {}

/**
 * Makes a stub of a function or RpcTarget on this side, like the stub another side would receive. Pass
 * it to several receivers, each of which disposes of its own. `instanceof` recognizes every such stub.
 */
// Named here, because a variable's name does not outlive a minifier.
export const RpcStub: { new <T extends object>(target: T): RpcStubOf<T> } =
  /* @__PURE__ */ Object.defineProperty(
    class {
      constructor(target: object) {
        const [here, there] = pairOfReferences();
        const party = new Party(OWN, () => runningHostBindings()!.caller);
        // biome-ignore lint/correctness/noConstructorReturn: a stub is a proxy of its target's members
        return there.receive(here.send(here.draft(target, party)), party) as object;
      }

      static [Symbol.hasInstance](value: unknown): boolean {
        return typeof value === 'function' && isRpcStub(value);
      }
    },
    'name',
    { value: 'RpcStub', configurable: true },
  ) as never;

export type RpcStub<T extends object> = RpcStubOf<T>;

/**
 * What the app passes to its objects, and the namespaces of their classes, as an import instead of a
 * constructor's parameter. While modules are evaluated, it shows what was passed to `provideEnv`.
 */
export const env: Readonly<Record<string, unknown>> = mirror(
  () => runningHostBindings()?.env ?? providedEnv(),
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
