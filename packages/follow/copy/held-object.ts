// An object that a replica keeps in memory: its base, its queue, its parts.
//
// Invariant: all uses are of one instance. If it ends, its unflushed commits are lost, and so is what the replica knows
// of them: each later use throws, and the replica is opened again.

import type { ObjectAddress } from '@ctx-storage/core/object';
import type { ObjectHost, ObjectInstance } from '@ctx-storage/worker/objects';

export class HeldObject {
  readonly instance: ObjectInstance;
  /** Lets go of it. */
  readonly release: () => void;

  /** @throws as `ObjectHost.instance` */
  static open(host: ObjectHost, address: ObjectAddress): Promise<HeldObject> {
    return host.use(address, (instance) => new HeldObject(instance));
  }

  private constructor(instance: ObjectInstance) {
    this.instance = instance;
    this.release = instance.retain();
  }

  /** Runs the action as an event of the object: its writes are one commit, which is durable when it resolves. */
  event<T>(action: (storage: ObjectInstance['storage']) => T | PromiseLike<T>): Promise<T> {
    const { instance } = this;
    return instance.deliver(() => action(instance.storage));
  }
}
