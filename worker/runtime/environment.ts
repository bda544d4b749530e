// What the runtime needs of the world around it: time, turns of the event loop, files, SQLite.
//
// Everything here is passed in, so that tests drive it and no other module touches a global.

import type { FileDirectory } from '../file/file.ts';
import type { ObjectStore } from '../log/object-store.ts';
import type { DatabaseEvents } from '../sql/database.ts';
import type { LogDatabase } from '../storage/log-database.ts';
import type { StorageOptions } from '../storage/options.ts';

export interface HostEnvironment {
  /** Milliseconds since the epoch. */
  now(): number;
  randomUint32(): number;
  /** Runs the task in the next turn of the event loop; turns come in the order of the calls. */
  nextTurn(task: () => void): void;
  /** Runs the task after the delay; the result cancels it. */
  after(delayMs: number, task: () => void): () => void;
  /** The files of an object, by its id. */
  directory(id: string): Promise<FileDirectory>;
  /** Removes an object's files; none is open. */
  removeDirectory(id: string): Promise<void>;
  /** What is chosen for objects that have no class. */
  readonly storageOptions?: StorageOptions;
  /** Opens SQLite on the object's log, or on a file that is no object's. */
  openDatabase(store: Pick<ObjectStore, 'file'>, events: DatabaseEvents): LogDatabase;
}

/** Turns of the event loop by messages to oneself: they queue behind what is already waiting. */
export function messageTurns(): (task: () => void) => void {
  const tasks: (() => void)[] = [];
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => tasks.shift()?.();
  return (task) => {
    tasks.push(task);
    port2.postMessage(null);
  };
}
