// Objects from outside: the interface of a page's connection and of a process that hosts them.

import type { StorageEvents } from './connection-status.ts';
import type { DurableObjectId, DurableObjectNamespace, DurableObjectStub } from './object.ts';
import type { EntryHandle } from './service.ts';
import type { ForkOptions, StorageHandle } from './storage.ts';

/** The namespaces of classes, by name. For each name: the class, its options, or its objects' type. */
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
 * Running objects, from outside of them: the result of `connect` on a page, and of `createObjects` in a Node
 * process. Functions and `clock` may be destructured.
 */
export interface Objects<Classes extends object> {
  /** The namespaces, by name of the class and of the binding. A name that is not served throws UNKNOWN_CLASS. */
  readonly env: NamespacesOf<Classes>;
  /** The default entry point of the module (`export default`). */
  readonly worker: EntryHandle;
  /** The entry point that the module exports by this name; a call of one that does not exist is UNKNOWN_CLASS. */
  entrypoint<T extends object = object>(name: string): EntryHandle<T>;
  /**
   * The objects of a class that exist, by its name or a binding, in order of their ids. Ask for part after
   * part when there are many: the last id of one part is the next part's `startAfter`.
   *
   * @throws UNKNOWN_CLASS, INVALID_ARGUMENT
   */
  list(className: keyof Classes & string, options?: ListObjectsOptions): Promise<ObjectSummary[]>;
  /**
   * The storage of an object, as `openStorage` gives it: to look into it, and change it, from beside the object.
   *
   * @throws INVALID_ARGUMENT
   */
  storage(stub: DurableObjectStub): Promise<StorageHandle>;
  /**
   * Forks an object: a stub of the same class, whose object runs on a branch. The branch has neither the object's
   * sockets nor its facets, and its alarm does not run. `fetch: 'allow'` lets its code reach the network and other
   * objects, which is BRANCH_ISOLATED otherwise. Disposing of the stub ends the branch, unless it is kept.
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

/** How an object of a class is forked. */
export interface ForkObjectOptions extends ForkOptions {
  /** Whether its code may reach the network and other objects. @default 'refuse' */
  fetch?: 'allow' | 'refuse';
}

/** The stub of a branch. Disposing of it ends the branch, unless that is kept or a handle of it is open. */
export type ForkedStub<Stub> = Stub & { [Symbol.asyncDispose](): Promise<void> };

/** Which of the objects of a class are listed. */
export interface ListObjectsOptions {
  /** At most this many, 1 or more. @default all */
  readonly limit?: number;
  /** Only objects whose id comes after this one, whether or not it still exists. @default from the first on */
  readonly startAfter?: DurableObjectId | string;
}

/** An object that exists. */
export interface ObjectSummary {
  readonly className: string;
  /** With its name, if it was ever addressed by name. */
  readonly id: DurableObjectId;
  /** Size of its files, including history. Its branches have files of their own. */
  readonly sizeBytes: number;
  /** When its alarm is due, in milliseconds since the epoch; null when none is set. */
  readonly nextAlarm: number | null;
  /** The names of the branches that it keeps, in the order in which they were made. */
  readonly branches: readonly string[];
  /**
   * Why the object cannot be opened, such as CORRUPT, or the error of its constructor: its alarm is not known
   * then. Null when it can be, or was not opened to be listed.
   */
  readonly error: Error | null;
}

/** An alarm that ran. */
export interface RanAlarm {
  readonly className: string;
  readonly id: DurableObjectId;
  /** When it was due, in milliseconds since the epoch. */
  readonly dueTime: number;
}

/**
 * The time of the objects, which alarms and the timers of object code use.
 *
 * It is the system's time until a call sets or advances it; from then on it changes only by calls.
 * It belongs to the worker, so all tabs share it.
 */
export interface ObjectsClock {
  /** Milliseconds since the epoch. */
  now(): Promise<number>;
  /** Stops the clock at this time, and runs everything that is overdue. */
  set(time: number | Date): Promise<void>;
  /** Stops the clock and advances it, running everything that becomes due on the way. */
  advance(durationMs: number): Promise<void>;
  /** Moves to the next alarm, or retry of one, and runs it; null when none is set. */
  runNextAlarm(): Promise<RanAlarm | null>;
  /** Returns to the system's time. */
  resume(): Promise<void>;
}
