// The durable list of objects whose calls may wait for the server. After a restart, the next worker sends these calls, even
// if no page uses the objects.
//
// Invariant: each method is one commit, durable when it resolves. The list may have an object whose calls are answered,
// but never lacks one with waiting calls.
//
// This file does not know the calls.

import { idOfStorage, type ObjectAddress } from '@ctx-storage/core/object';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';

const TABLE =
  'CREATE TABLE IF NOT EXISTS waiting (className TEXT, name TEXT, PRIMARY KEY (className, name)) WITHOUT ROWID';
const ADDRESS: ObjectAddress = { className: null, id: idOfStorage('_follow/waiting') };

/** The class and the name of an object that follows. */
export interface WaitingObject {
  readonly className: string;
  readonly name: string;
}

export class WaitingObjects {
  readonly #host: ObjectHost;

  constructor(host: ObjectHost) {
    this.#host = host;
  }

  /** Adds an object to the list, unless it is there. @throws DISK_FULL, IO */
  add({ className, name }: WaitingObject): Promise<void> {
    return this.#use((storage) => {
      storage.exec(TABLE, []);
      storage.exec('INSERT OR IGNORE INTO waiting VALUES (?, ?)', [className, name]);
    });
  }

  /** Removes an object from the list. @throws DISK_FULL, IO */
  delete({ className, name }: WaitingObject): Promise<void> {
    return this.#use((storage) => {
      if (storage.isUnwritten) return;
      storage.exec('DELETE FROM waiting WHERE className = ? AND name = ?', [className, name]);
    });
  }

  list(): Promise<readonly WaitingObject[]> {
    return this.#use((storage) => {
      if (storage.isUnwritten) return [];
      const rows = [...storage.exec('SELECT className, name FROM waiting', []).raw()];
      return (rows as [string, string][]).map(([className, name]) => ({ className, name }));
    });
  }

  #use<T>(action: (storage: ObjectInstance['storage']) => T): Promise<T> {
    return this.#host.deliver(ADDRESS, ({ storage }) => action(storage));
  }
}
