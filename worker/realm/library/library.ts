// Exports the names of `cloudflare:workers` and `ctx-storage/worker`: the base classes, and functions that concern the
// object whose code is running.
//
// It does not import the host, because every bundle of user code contains this module.
//
// Invariant: importing it has no side effects, and nothing here acts before a host runs.

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
export { DurableObject, WorkerEntrypoint, WorkflowEntrypoint } from './base-classes.ts';
export { type EnvNames, provideEnv } from './provided-env.ts';
export { RpcStub } from './rpc-stub.ts';
export {
  env,
  exports,
  waitUntil,
  withEnv,
  withEnvAndExports,
  withExports,
} from './running-object.ts';
export { RpcPromise, RpcProperty, ServiceStub } from './stub-classes.ts';
