// What `createObjects` takes and returns, in every runtime that has no page.

import type { StorageEvents } from '../../src/contract/connection-status.ts';
import type { DurableObjectStub } from '../../src/contract/object.ts';
import type { ManagedObjects, NamespacesOf } from '../../src/contract/object-management.ts';
import type { StorageHandle } from '../../src/contract/storage.ts';
import type { ClassTable, ClassTableOptions } from '../instance/object-class.ts';
import type { QueryLimits } from '../sql/query-limits.ts';

/** Options of objects in this thread. */
export interface InProcessOptions extends ClassTableOptions {
  /** What the app passes to its objects, besides the namespaces. @default as given to `provideEnv` */
  readonly env?: object;
  /** How long an idle object stays in memory, in milliseconds. @default 10,000 */
  readonly idleMs?: number;
  /** How long a query may run, and how much of SQLite's memory an object may take. */
  readonly limits?: QueryLimits;
}

/** Running objects. */
export interface Objects<Table extends ClassTable> extends ManagedObjects<NamespacesOf<Table>> {
  /** The events of `StorageEvents`, as a page's connection has them. */
  addEventListener<Type extends keyof StorageEvents>(
    type: Type,
    listener: (event: StorageEvents[Type]) => void,
  ): void;
  removeEventListener<Type extends keyof StorageEvents>(
    type: Type,
    listener: (event: StorageEvents[Type]) => void,
  ): void;
  /** The storage of an object: to look into it, and change it, from beside the object. */
  storage(stub: DurableObjectStub): Promise<StorageHandle>;
  /** Ends every object after its last write is durable. */
  close(): Promise<void>;
}
