// The module `cloudflare:workers` as code in the playground has it: the package's declarations, with the handlers that
// the runtime calls, and an `env` of the namespaces of the code's own classes.

import type {
  AlarmInvocationInfo,
  DurableObjectState,
  RpcStub as RpcStubOf,
} from '../../../src/shared/contract/object.ts';
import type { ServiceStub as ServiceStubOf } from '../../../src/shared/contract/service.ts';
import { DurableObject as Base } from '../../../worker/realm/library/base-classes.ts';
import type { IS_OBJECT } from './namespaces.d.ts';

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
  ObjectWebSocketEventMap,
} from '../../../src/shared/contract/object.ts';
export { RpcTarget } from '../../../src/shared/contract/rpc-target.ts';
export type { ExecutionContext } from '../../../src/shared/contract/service.ts';
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
} from '../../../src/shared/contract/storage.ts';
export {
  WorkerEntrypoint,
  WorkflowEntrypoint,
} from '../../../worker/realm/library/base-classes.ts';

/** The class of the stubs of objects, of services and of exports. */
export declare const ServiceStub: abstract new () => object;
export type ServiceStub<T extends object = object> = ServiceStubOf<T>;
/** A member of a stub. */
export declare abstract class RpcProperty {}
/** The promise of a call. */
export declare abstract class RpcPromise {}

/** Base of a Durable Object class; keeps `ctx` and `env` as the constructor received them. */
export declare abstract class DurableObject<Env = Cloudflare.Env, Props = unknown> extends Base<
  Env,
  Props
> {
  constructor(ctx: DurableObjectState<Props>, env: object);
  readonly [IS_OBJECT]: true;
  /** Answers a request to the object. */
  fetch?(request: Request): Response | Promise<Response>;
  /** Runs when the alarm of `ctx.storage.setAlarm` is due; again when it fails. */
  alarm?(info?: AlarmInvocationInfo): void | Promise<void>;
  /** A message of a socket that `ctx.acceptWebSocket` took over. */
  webSocketMessage?(socket: WebSocket, message: string | ArrayBuffer): void | Promise<void>;
  /** The other end closed such a socket. */
  webSocketClose?(
    socket: WebSocket,
    code: number,
    reason: string,
    wasClean: boolean,
  ): void | Promise<void>;
  /** Such a socket failed. */
  webSocketError?(socket: WebSocket, error: unknown): void | Promise<void>;
}

/**
 * Makes a stub of a function or RpcTarget on this side, like the stub another side would receive.
 */
export declare const RpcStub: { new <T extends object>(target: T): RpcStubOf<T> };
export type RpcStub<T extends object> = RpcStubOf<T>;

/** The namespaces of the classes, as an import instead of a constructor's parameter. */
export declare const env: Cloudflare.Env;

/** The namespaces of all classes, by name of the class. */
export declare const exports: Cloudflare.Env;

/** `ctx.waitUntil` of the object whose code is running. */
export declare function waitUntil(work: Promise<unknown>): void;

/** The function's result. For it, and all that it awaits, the import `env` shows this object. */
export declare function withEnv<T>(env: unknown, call: () => T): T;

/** The same for `exports`. */
export declare function withExports<T>(exports: unknown, call: () => T): T;

/** The same for both. */
export declare function withEnvAndExports<T>(env: unknown, exports: unknown, call: () => T): T;

/** Names that `provideEnv` makes namespaces from. */
export interface EnvNames {
  readonly bindings?: Readonly<Record<string, string>>;
  readonly scriptName?: string;
}

/** Fills `env` of this module for modules that read it while they are evaluated. */
export declare function provideEnv(env: object, names?: EnvNames): void;
