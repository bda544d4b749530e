// Declares how objects are managed from outside: the interface of a page's connection and of a process that hosts them.

import type { StorageEvents } from './connection-status.ts';
import type { DurableObjectId, DurableObjectNamespace, DurableObjectStub } from './object.ts';
import type { EntryHandle } from './service.ts';
import type { ForkOptions, StorageHandle } from './storage.ts';

/**
 * The namespaces of classes, by name. The type parameter has, for each name, the class, its options, or its objects'
 * type.
 */
export type NamespacesOf<Classes extends object> = {
  readonly [Name in keyof Classes]: DurableObjectNamespace<ObjectOf<Classes[Name]>>;
};

type AnyClass = new (...parameters: never[]) => object;

type ObjectOf<Entry> = Entry extends AnyClass
  ? InstanceType<Entry>
  : Entry extends { readonly class: infer Class extends AnyClass }
    ? InstanceType<Class>
    : Extract<Entry, object>;

/**
 * The result of `connect` on a page and of `createObjects` in a Node process, by which code outside the objects reaches
 * them. Functions and `clock` may be destructured.
 */
export interface Objects<Classes extends object> {
  /** The namespaces, by name of the class and of the binding. A name that is not served throws UNKNOWN_CLASS. */
  readonly env: NamespacesOf<Classes>;
  /** The default entry point of the module (`export default`). */
  readonly worker: EntryHandle;
  /**
   * Returns the entry point that the module exports by this name. A call of an entry point that does not exist rejects
   * with UNKNOWN_CLASS.
   */
  entrypoint<T extends object = object>(name: string): EntryHandle<T>;
  /**
   * Lists the existing objects of a class, which is named by its name or a binding, in order of their ids. If there are
   * many, list them in parts: the last id of one part is the next part's `startAfter`.
   *
   * @throws UNKNOWN_CLASS, INVALID_ARGUMENT
   */
  list(className: keyof Classes & string, options?: ListObjectsOptions): Promise<ObjectSummary[]>;
  /**
   * Opens a handle on the storage of an object, like `openStorage`, to read and change it from outside the object.
   *
   * @throws INVALID_ARGUMENT
   */
  storage(stub: DurableObjectStub): Promise<StorageHandle>;
  /**
   * Forks an object and resolves to a stub of the same class, whose object runs on a branch. The branch has neither the
   * object's sockets nor its facets, and its alarm does not run. `fetch: 'allow'` lets its code reach the network and
   * other objects, which is BRANCH_ISOLATED otherwise. Disposing of the stub ends the branch, unless it is kept.
   *
   * @throws StorageError `INVALID_ARGUMENT`, `BOOKMARK_INVALID`, `BOOKMARK_UNAVAILABLE`, `DISK_FULL`
   */
  fork<Stub extends DurableObjectStub>(
    stub: Stub,
    options?: ForkObjectOptions,
  ): Promise<ForkedStub<Stub>>;
  /**
   * Removes an object with everything it stored; calls of it that are under way reject.
   *
   * @throws INVALID_ARGUMENT
   */
  deleteObject(stub: DurableObjectStub): Promise<void>;
  /** The time of the objects, for tests and tools. */
  readonly clock: ObjectsClock;
  addEventListener<Type extends keyof StorageEvents>(
    type: Type,
    listener: (event: StorageEvents[Type]) => void,
  ): void;
  removeEventListener<Type extends keyof StorageEvents>(
    type: Type,
    listener: (event: StorageEvents[Type]) => void,
  ): void;
  /**
   * Ends the use of the objects: handles of `storage` reject with CONNECTION_CLOSED. On a page it ends the
   * connection, and a worker that `connect` started; other tabs go on. It waits for calls made before, 30 s at most.
   * In a process it ends every object, after its last write is durable.
   */
  close(): Promise<void>;
}

/** The options of forking an object of a class. */
export interface ForkObjectOptions extends ForkOptions {
  /** Whether its code may reach the network and other objects. @default 'refuse' */
  fetch?: 'allow' | 'refuse';
}

/** The stub of a branch. Disposing of the stub ends the branch, unless the branch is kept or a handle of it is open. */
export type ForkedStub<Stub> = Stub & { [Symbol.asyncDispose](): Promise<void> };

/** The options that select which objects of a class are listed. */
export interface ListObjectsOptions {
  /** How many objects are listed at most, 1 or more. @default all */
  readonly limit?: number;
  /** Lists only objects whose id comes after this one, whether or not it still exists. @default from the first on */
  readonly startAfter?: DurableObjectId | string;
}

/** An object that exists. */
export interface ObjectSummary {
  readonly className: string;
  /** The id of the object, which has its name if it was ever addressed by name. */
  readonly id: DurableObjectId;
  /** The size of the object's files, including its history. Its branches have files of their own. */
  readonly sizeBytes: number;
  /** When the object's alarm is due, in milliseconds since the epoch; null if none is set. */
  readonly nextAlarm: number | null;
  /** The names of the object's kept branches, in the order in which they were made. */
  readonly branches: readonly string[];
  /**
   * Why the object cannot be opened, such as CORRUPT or the error of its constructor; its alarm is not known then. Null
   * if the object can be opened, or was not opened to be listed.
   */
  readonly error: Error | null;
}

/** An alarm that ran. */
export interface RanAlarm {
  readonly className: string;
  readonly id: DurableObjectId;
  /** When the alarm was due, in milliseconds since the epoch. */
  readonly dueTime: number;
}

/**
 * The time of the objects, which alarms and the timers of object code use.
 *
 * It is the system's time until a call sets or advances it; from then on it changes only by calls.
 * It belongs to the worker, so all tabs share it.
 */
export interface ObjectsClock {
  /** Returns the time in milliseconds since the epoch. */
  now(): Promise<number>;
  /** Stops the clock at this time and runs everything that is overdue. */
  set(time: number | Date): Promise<void>;
  /** Stops the clock and advances it, running everything that becomes due on the way. */
  advance(durationMs: number): Promise<void>;
  /** Moves the clock to the next alarm, or to a retry of an alarm, and runs it. Resolves to null if no alarm is set. */
  runNextAlarm(): Promise<RanAlarm | null>;
  /** Makes the clock follow the system's time again. */
  resume(): Promise<void>;
}
