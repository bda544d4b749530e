// Exports the public types of `ctx.storage` that packages may import: handles, commits, status, live reads, and limits.

export type {
  ChangeCount,
  ChangeCounts,
  ConflictError,
  KeyChange,
  MergeDecision,
  MergeOptions,
  RowChange,
  RowValues,
  SchemaChange,
  StorageChange,
  StorageConflict,
  StorageDiff,
} from '../shared/contract/changes.ts';
export type { ConnectionStatus } from '../shared/contract/connection-status.ts';
export { checkHistoryLimits, type HistoryLimits } from '../shared/contract/history-limits.ts';
export {
  KEYS_PER_CALL_MAX,
  LISTED_CONFLICTS_MAX,
  REVERTED_COMMITS_MAX,
  SQL_BYTES_MAX,
} from '../shared/contract/limits.ts';
export type { Live, LiveState } from '../shared/contract/live.ts';
export type { LogReport, ReportedRecord, ReportedSegment } from '../shared/contract/log-report.ts';
export type {
  CommitAuthor,
  DurableObjectStorage,
  ForkOptions,
  HistoryOptions,
  ListOptions,
  SqlRow,
  SqlStorage,
  SqlStorageValue,
  StorageBranch,
  StorageCommit,
  StorageHandle,
  StorageMoment,
} from '../shared/contract/storage.ts';
