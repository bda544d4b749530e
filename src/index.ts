// The package as a page imports it: `openStorage`, `connect`, their types, and the errors' codes.

export type { RemoteObjects } from './client/connect.ts';
export { type ConnectOptions, connect } from './connect.ts';
export type {
  ConnectionState,
  ConnectionStatus,
  NamedObject,
  PersistedState,
  StatusEvents,
  StorageEvents,
  StorageSpace,
} from './contract/connection-status.ts';
export { isStorageError, type StorageError, type StorageErrorCode } from './contract/errors.ts';
export type {
  Live,
  LiveIdentity,
  LiveKeys,
  LiveOptions,
  LiveState,
  LiveStub,
} from './contract/live.ts';
export type { StorageMedium } from './contract/medium.ts';
export type {
  DurableObjectClass,
  DurableObjectFacets,
  DurableObjectId,
  DurableObjectJurisdiction,
  DurableObjectNamespace,
  DurableObjectStub,
  FacetStartupOptions,
  FacetStub,
  GetOptions,
  LoopbackExport,
  Namespace,
  ObjectResponse,
  ObjectWebSocket,
  RpcStub,
} from './contract/object.ts';
export type {
  ListObjectsOptions,
  NamespacesOf,
  ObjectSummary,
  Objects,
  ObjectsClock,
  RanAlarm,
} from './contract/object-management.ts';
export { RpcTarget } from './contract/rpc-target.ts';
export type {
  BinarySource,
  HistoryOptions,
  KeyValueOperations,
  ListOptions,
  LiveKeyValue,
  PastReading,
  ReadOptions,
  Recovery,
  RemoteKvStorage,
  RemoteSqlCursor,
  RemoteSqlStorage,
  RemoteStorage,
  SqlRow,
  SqlStorageValue,
  StorageCommit,
  StorageHandle,
  StorageMoment,
  SyncListOptions,
  Transaction,
  WriteOptions,
} from './contract/storage.ts';
export { live } from './live/live-stub.ts';
export { type OpenOptions, openStorage } from './open-storage.ts';
export { withSignal } from './stubs/with-signal.ts';
