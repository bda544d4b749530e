// An object that a replica keeps in memory: its base or its queue.
//
// Invariant: all uses are of one instance of the object. If the instance ends, its unflushed commits are lost. Then each
// later use throws, and the replica, which may have relied on these commits, is opened again. No assertion keeps this:
// an instance may end at any moment, and then refuses each event.

import type { ObjectAddress } from '@ctx-storage/core/object';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';

export class HeldObject {
  readonly instance: ObjectInstance;
  /** Releases the instance, so that it may be closed. */
  readonly release: () => void;

  /** Opens the object, and keeps it in memory until `release` is called. @throws as `ObjectHost.instance` */
  static open(host: ObjectHost, address: ObjectAddress): Promise<HeldObject> {
    return host.use(address, (instance) => new HeldObject(instance));
  }

  private constructor(instance: ObjectInstance) {
    this.instance = instance;
    this.release = instance.retain();
  }

  /** Runs the action as an event of the object: its writes are one commit of the author, which is durable when the promise
   * resolves. */
  event<T>(
    action: (storage: ObjectInstance['storage']) => T | PromiseLike<T>,
    author?: Parameters<ObjectInstance['deliver']>[2],
  ): Promise<T> {
    const { instance } = this;
    return instance.deliver(() => action(instance.storage), null, author);
  }
}
