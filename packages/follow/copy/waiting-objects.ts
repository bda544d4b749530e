// The durable list of objects whose calls may wait for the server. After a restart, the next worker sends these calls, even
// if no page uses the objects.
//
// Invariant: each method is one commit, durable when it resolves. The list may have an object whose calls are answered,
// but never lacks one with waiting calls. No assertion keeps this: the calls are in other objects, which are not opened
// to look.
//
// This file does not know the calls.

import { idOfStorage, type ObjectAddress } from '@ctx-storage/core/object';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';

/** Earlier versions of this package read only the first table, so the copies of identities are in the second one. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS waiting (className TEXT, name TEXT, PRIMARY KEY (className, name)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS waitingCopy
    (className TEXT, name TEXT, digest TEXT, PRIMARY KEY (className, name, digest)) WITHOUT ROWID`;
const ADDRESS: ObjectAddress = { className: null, id: idOfStorage('_follow/waiting') };

/** The class and the name of an object that follows. */
export interface WaitingObject {
  readonly className: string;
  readonly name: string;
  /** The digest of the identity to which the calls belong. Used only if each identity has its own copy. */
  readonly digest?: string;
}

export class WaitingObjects {
  readonly #host: ObjectHost;

  constructor(host: ObjectHost) {
    this.#host = host;
  }

  /** Adds an object to the list, unless the list has it. @throws DISK_FULL, IO */
  add({ className, name, digest }: WaitingObject): Promise<void> {
    return this.#use((storage) => {
      storage.exec(TABLES, []);
      if (digest === undefined) {
        storage.exec('INSERT OR IGNORE INTO waiting VALUES (?, ?)', [className, name]);
      } else {
        const cells = [className, name, digest];
        storage.exec('INSERT OR IGNORE INTO waitingCopy VALUES (?, ?, ?)', cells);
      }
    });
  }

  /** Removes an object from the list. @throws DISK_FULL, IO */
  delete({ className, name, digest }: WaitingObject): Promise<void> {
    return this.#use((storage) => {
      if (storage.isUnwritten) return;
      storage.exec(TABLES, []);
      if (digest === undefined) {
        storage.exec('DELETE FROM waiting WHERE className = ? AND name = ?', [className, name]);
      } else {
        const query = 'DELETE FROM waitingCopy WHERE className = ? AND name = ? AND digest = ?';
        storage.exec(query, [className, name, digest]);
      }
    });
  }

  list(): Promise<readonly WaitingObject[]> {
    return this.#use((storage) => {
      if (storage.isUnwritten) return [];
      storage.exec(TABLES, []);
      const rows = [
        ...storage.exec('SELECT className, name FROM waiting', []).raw(),
        ...storage.exec('SELECT className, name, digest FROM waitingCopy', []).raw(),
      ] as [string, string, string?][];
      return rows.map(([className, name, digest]) => ({
        className,
        name,
        ...(digest !== undefined && { digest }),
      }));
    });
  }

  #use<T>(action: (storage: ObjectInstance['storage']) => T): Promise<T> {
    return this.#host.deliver(ADDRESS, ({ storage }) => action(storage));
  }
}
