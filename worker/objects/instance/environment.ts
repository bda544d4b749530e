// The platform's services for a host and its objects: time, turns of the event loop, randomness, files,
// SQLite.
//
// All of it is passed in, so that tests can drive it. Object code still uses the platform's globals;
// worker/realm/globals replaces those.

import type { PartyIo } from '../../../src/shared/calls/stubs/party.ts';
import type { HistoryLimits } from '../../../src/shared/contract/history-limits.ts';
import type { ObjectMedium } from '../../engine/file/medium.ts';
import type { Space } from '../../engine/file/space-watch.ts';
import type { FileSizes, ObjectFiles } from '../../engine/log/object-files.ts';
import type { DatabaseEvents } from '../../engine/sql/database.ts';
import type { Limits, OwnLimits } from '../../engine/sql/query-limits.ts';
import type { LogDatabase } from '../../engine/storage/databases.ts';
import type { StorageOptions } from '../../engine/storage/storage-environment.ts';
import type { ObjectCatalog } from '../catalog/catalog.ts';
import type { Turns } from '../io/turns.ts';
import type { KeptEnvironment, KeptResults } from '../live/kept-results.ts';

export interface HostEnvironment extends Turns {
  /** Milliseconds since the epoch, by the host's clock, which follows the wall clock. */
  now(): number;
  /** Milliseconds of the host's clock that only go forward, whatever the wall clock does. */
  elapsed(): number;
  randomUint32(): number;
  /**
   * Runs the task when the delay has passed on the host's clock; the result cancels it. `keepsAlive` says that a
   * process must wait for the task.
   */
  after(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** Runs the task when the host's clock shows this time; the result cancels it. */
  at(timeMs: number, task: () => void): () => void;
  /** True while someone other than the system moves the host's clock. @default false */
  isTimeControlled?(): boolean;
  /** True when the network accepts a stream as a body. @default false: browsers do not */
  readonly sendsStreams?: boolean;
  /** The compatibility flags of the script. @default none */
  readonly compatibilityFlags?: readonly string[];
  /** How calls of code beside the objects enter and leave. @default as of a program */
  readonly outside?: PartyIo;
  /** Like `after`, in real time, which goes on while the host's clock stands still. */
  afterRealTime(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** The files of objects, by key of their addresses. */
  readonly medium: ObjectMedium;
  /** True if a call on the files of the object has failed in this process; see LogEnvironment. Set for one object. */
  readonly hasFailed?: boolean;
  /** Called when a call on the object's files has failed, and no caller learns of it. */
  failed?(): void;
  /** Returns the start of the history that the object's branches need; see LogEnvironment. Set for one object. */
  pinnedSequence?(): number;
  /** Sizes of the objects' files. @default the usual ones */
  readonly fileSizes?: FileSizes;
  /** How much history objects keep. @default 30 days, within historyBytes */
  readonly history?: HistoryLimits;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** Estimates the space for files. Without this function, low space is not reported. */
  estimate?(): Promise<Space>;
  /** The index of objects with a class. */
  readonly catalog: ObjectCatalog;
  /** Makes the store of live results for the next visit of a page. @default nothing is kept */
  makeKept?(failed: KeptEnvironment['failed']): KeptResults;
  /** Options of objects without a class. */
  readonly storageOptions?: StorageOptions;
  /** True when the flag of a call was revoked, which cancels the call. @default never */
  isRevoked?(flag: string): boolean;
  /** Limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** Opens SQLite on an object's log, or on a file outside of all objects. */
  openDatabase(
    files: Pick<ObjectFiles, 'file'>,
    events: DatabaseEvents,
    limits?: OwnLimits,
  ): LogDatabase;
}
