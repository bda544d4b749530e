// An object of which each identity has a copy: passes each use to the copy of the present identity.
//
// Invariants:
//   one copy is used at a time. When the identity changes, everything that was begun on the earlier identity's copy
//   ends before the next use begins: its connection, its live reads and the instances that handles read
//   uses begin in the order in which they were made

import { storageError } from '@ctx-storage/core/errors';
import type { ObjectAddress } from '@ctx-storage/core/object';
import type { FollowAnswers, FollowAsk } from '@ctx-storage/core/wire';
import type { FollowedObject, FollowedResult, ObjectHost } from '@ctx-storage/worker/objects';
import { type FollowingObject, hostClosed } from './following-object.ts';
import { type Identity, identityChanged, identityOf } from './identity.ts';

const NOTHING = () => {};

export interface IdentityEnvironment {
  /** Returns who uses the device now. It is asked at each use, and before each connection. */
  identity(): unknown;
  /** Makes the object whose copy is that of the identity. It calls `check` before each connection. */
  make(address: ObjectAddress, identity: Identity, check: () => Promise<void>): FollowingObject;
  /** Called when the identity differs from the one before. */
  changed(): void;
}

export class IdentifiedObject implements FollowedObject {
  readonly #host: ObjectHost;
  readonly #address: ObjectAddress;
  readonly #environment: IdentityEnvironment;
  #found: { readonly identity: Identity; readonly object: FollowingObject } | undefined;
  /** Settles when the last use has found its copy. */
  #finding: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(host: ObjectHost, address: ObjectAddress, environment: IdentityEnvironment) {
    this.#host = host;
    this.#address = address;
    this.#environment = environment;
  }

  async call(method: string, args: readonly unknown[]): Promise<FollowedResult> {
    return (await this.#present()).call(method, args);
  }

  async forecast(): Promise<ObjectAddress> {
    return (await this.#present()).forecast();
  }

  async ask(ask: FollowAsk): Promise<FollowAnswers[FollowAsk['kind']]> {
    for (;;) {
      const object = await this.#present();
      try {
        return await object.ask(ask);
      } catch (error) {
        // A caller that waits for a change of the state gets the state of the next copy.
        if (ask.kind !== 'state' || this.present === object) throw error;
      }
    }
  }

  /**
   * Sends the calls that an earlier worker has left in the copy with this digest, if the copy is the present
   * identity's.
   */
  async resume(digest: string | undefined): Promise<void> {
    const object = await this.#present();
    if (this.#found?.identity.digest === digest) await object.resume();
  }

  /** Returns the address of the present identity's copy. */
  async located(): Promise<ObjectAddress> {
    await this.#present();
    return this.#copyOf(this.#found!.identity);
  }

  /** The object whose copy was used last; undefined if no copy was used. */
  get present(): FollowingObject | undefined {
    return this.#found?.object;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.present?.close();
  }

  /** Finds the copy of the present identity. @throws INVALID_ARGUMENT, and errors of the app's function */
  #present(): Promise<FollowingObject> {
    const found = this.#finding.then(() => this.#find());
    this.#finding = found.catch(NOTHING);
    return found;
  }

  async #find(): Promise<FollowingObject> {
    const given = await this.#environment.identity();
    if (this.#isClosed) throw hostClosed();
    const before = this.#found;
    if (before !== undefined && before.identity.text === given) return before.object;
    const identity = identityOf(given);
    if (before !== undefined) {
      await before.object.close(identityChanged());
      const reason = storageError('OBJECT_RESET', 'Another identity uses the object now.');
      await this.#host.reset(this.#copyOf(before.identity), reason);
    }
    const object = this.#environment.make(this.#copyOf(identity), identity, async () => {
      if ((await this.#present()) !== object) throw identityChanged();
    });
    this.#found = { identity, object };
    if (before !== undefined) this.#environment.changed();
    return object;
  }

  #copyOf({ digest }: Identity): ObjectAddress {
    return { ...this.#address, copy: digest };
  }
}
