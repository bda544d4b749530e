// What the runtime needs of the world around it: time, turns of the event loop, files, SQLite.
//
// Everything here is passed in, so that tests drive it and no other module touches a global.

import type { ObjectCatalog } from '../catalog/catalog.ts';
import type { ObjectMedium } from '../file/medium.ts';
import type { Turns } from '../io/turns.ts';
import type { ObjectStore } from '../log/object-store.ts';
import type { DatabaseEvents } from '../sql/database.ts';
import type { Limits } from '../sql/query-limits.ts';
import type { LogDatabase } from '../storage/log-database.ts';
import type { StorageOptions } from '../storage/options.ts';

export interface HostEnvironment extends Turns {
  /** Milliseconds since the epoch, by the host's clock. */
  now(): number;
  randomUint32(): number;
  /** Runs the task when the delay has passed on the host's clock; the result cancels it. */
  after(delayMs: number, task: () => void, keepsAlive?: boolean): () => void;
  /** True while the host's clock is moved by somebody else than the system. @default false */
  isTimeControlled?(): boolean;
  /** The network takes a body that is a stream. @default false, as browsers' does not */
  readonly sendsStreams?: boolean;
  /** Like `after`, in real time, which goes on while the host's clock stands still. */
  afterRealTime(delayMs: number, task: () => void): () => void;
  /** The files of objects, by the keys of their addresses. */
  readonly medium: ObjectMedium;
  /** How long an instance without events stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** What is known of the objects of classes. */
  readonly catalog: ObjectCatalog;
  /** What is chosen for objects that have no class. */
  readonly storageOptions?: StorageOptions;
  /** Bounds of queries and imports. @default those of query-limits */
  readonly limits?: Limits;
  /** Opens SQLite on the object's log, or on a file that is no object's. */
  openDatabase(store: Pick<ObjectStore, 'file'>, events: DatabaseEvents): LogDatabase;
}
