// What a host and its objects need from the platform: time, turns of the event loop, randomness, files,
// SQLite.
//
// All of it is passed in, so that tests can drive it. Object code still uses the platform's globals;
// worker/globals replaces those.

import type { ObjectCatalog } from '../catalog/catalog.ts';
import type { ObjectMedium } from '../file/medium.ts';
import type { Space } from '../file/space-watch.ts';
import type { Turns } from '../io/turns.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import type { DatabaseEvents } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import type { LogDatabase } from '../storage/log-database.ts';
import type { StorageOptions } from '../storage/options.ts';

export interface HostEnvironment extends Turns {
  /** Milliseconds since the epoch, by the host's clock. */
  now(): number;
  randomUint32(): number;
  /**
   * Runs the task when the delay has passed on the host's clock; the result cancels it. `keepsAlive`: a
   * process waits for it.
   */
  after(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** True while someone other than the system moves the host's clock. @default false */
  isTimeControlled?(): boolean;
  /** True when the network accepts a stream as a body. @default false: browsers do not */
  readonly sendsStreams?: boolean;
  /** Like `after`, in real time, which goes on while the host's clock stands still. */
  afterRealTime(delayMs: number, task: () => void): () => void;
  /** The files of objects, by key of their addresses. */
  readonly medium: ObjectMedium;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** How much space there is for files; without it nobody is told that it is short. */
  estimate?(): Promise<Space>;
  /** The index of objects with a class. */
  readonly catalog: ObjectCatalog;
  /** Options of objects without a class. */
  readonly storageOptions?: StorageOptions;
  /** True when the flag of a call was revoked, which cancels the call. @default never */
  isRevoked?(flag: string): boolean;
  /** Limits of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** Opens SQLite on an object's log, or on a file outside of all objects. */
  openDatabase(files: Pick<ObjectFiles, 'file'>, events: DatabaseEvents): LogDatabase;
}
