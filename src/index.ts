// Exports what a page imports from the package: `openStorage`, `connect`, their types, and the errors' codes.

export { type ConnectOptions, connect } from './page/start/connect.ts';
export { type OpenOptions, openStorage } from './page/start/open-storage.ts';
export type { RemoteObjects } from './page/storage/connect.ts';
export { withSignal } from './shared/calls/stubs/with-signal.ts';
export type {
  BatchStatement,
  BulkOptions,
  BulkResult,
  BulkSource,
} from './shared/contract/bulk.ts';
export type {
  AlarmChange,
  ChangeCount,
  ChangeCounts,
  ConflictError,
  KeyChange,
  MergeDecision,
  MergedMoments,
  MergeOptions,
  RowChange,
  RowValues,
  SchemaChange,
  StorageChange,
  StorageConflict,
  StorageDiff,
  TableChange,
} from './shared/contract/changes.ts';
export type {
  ConnectionState,
  ConnectionStatus,
  NamedObject,
  PersistedState,
  StatusEvents,
  StorageEvents,
  StorageSpace,
} from './shared/contract/connection-status.ts';
export {
  isStorageError,
  type StorageError,
  type StorageErrorCode,
} from './shared/contract/errors.ts';
export type { HistoryLimits } from './shared/contract/history-limits.ts';
export type {
  Live,
  LiveIdentity,
  LiveKeys,
  LiveOptions,
  LiveState,
  LiveStub,
} from './shared/contract/live.ts';
export type { StorageMedium } from './shared/contract/medium.ts';
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
  ObjectWebSocketEventMap,
  RpcStub,
} from './shared/contract/object.ts';
export type {
  ListObjectsOptions,
  NamespacesOf,
  ObjectSummary,
  Objects,
  ObjectsClock,
  RanAlarm,
} from './shared/contract/object-management.ts';
export type { OpenLimits } from './shared/contract/open-limits.ts';
export { RpcTarget } from './shared/contract/rpc-target.ts';
export type {
  EntryHandle,
  QueueMessage,
  QueueResult,
  ScheduledEvent,
  ScheduledResult,
  ServiceStub,
} from './shared/contract/service.ts';
export type {
  BatchResult,
  BinarySource,
  Branching,
  BranchSummary,
  CommitAuthor,
  ComparedState,
  ForkOptions,
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
  StorageBranch,
  StorageCommit,
  StorageHandle,
  StorageMoment,
  SyncListOptions,
  Transaction,
  WriteOptions,
} from './shared/contract/storage.ts';
export { live } from './shared/live/live-stub.ts';
